//! Sends commands to nodes and returns answers, through redirections, broken connections and fail-overs.
//!
//! The units of a [`Frame`] are sent to their nodes at once. Those that a node redirects, or whose
//! connection breaks, are sent again, each unit as a whole, until they are answered or patience ends. A
//! unit that was sent twice may have been carried out twice. That does no harm to bits, which are only ever
//! set, but the second answer is not the first: the [`Fate`] of a unit distinguishes the two.
//!
//! The code is written once, `async`, over a [`Wire`]. The blocking wire never waits in an `await`, so
//! that [`ready`] can run the same code without a runtime.

use std::future::Future;
use std::pin::pin;
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

use redis::{Pipeline, RedisError, ServerErrorKind, Value};

use crate::frame::{Fate, Frame, Replies, Reply, Sealed};
use crate::slots::{Node, Slots, redirected};
use crate::{Address, Error, Result};

/// The first pause after trouble, and the longest.
const PAUSES: (Duration, Duration) = (Duration::from_millis(10), Duration::from_millis(320));

/// Redirections in a row before they count as trouble.
const REDIRECTIONS: u32 = 5;

/// A pipeline that is sent to a node.
pub(crate) struct Parcel<'a> {
    pub(crate) node: Node,
    pub(crate) pipeline: &'a Pipeline,
}

/// The reason why a parcel was not answered.
#[derive(Debug, Clone)]
pub(crate) struct Broken {
    pub(crate) error: RedisError,
    /// Set if any of it may have reached the node.
    pub(crate) sent: bool,
}

/// The answers to a parcel.
pub(crate) type Delivery = std::result::Result<Vec<Value>, Broken>;

/// Connections to nodes, blocking or not.
pub(crate) trait Wire: Send {
    /// Sends all parcels, then collects the answers to each; a node gets its parcels in order. A
    /// connection that fails, or has not answered everything within the timeout, is dropped, and made
    /// again by the next call that needs it.
    fn exchange(&mut self, parcels: &[Parcel<'_>]) -> impl Future<Output = Vec<Delivery>> + Send;

    /// Waits for this time.
    fn pause(&self, time: Duration) -> impl Future<Output = ()> + Send;
}

/// The fate of a unit after one attempt.
enum Verdict {
    Done(Reply),
    Moved(Node),
    Ask(Node),
    Again(Error),
    Fail(Error),
}

/// The routes to every node of a server or cluster.
pub(crate) struct Router<W> {
    wire: W,
    address: Address,
    slots: Slots,
    /// Set if slots have owners that have to be learned.
    cluster: bool,
    learned: bool,
    /// Set once a server has answered: before that, none is waited for.
    greeted: bool,
}

impl<W: Clone> Clone for Router<W> {
    fn clone(&self) -> Router<W> {
        Router {
            wire: self.wire.clone(),
            address: self.address.clone(),
            slots: self.slots.clone(),
            ..*self
        }
    }
}

impl<W: Wire> Router<W> {
    pub(crate) fn new(address: &Address, wire: W) -> Router<W> {
        Router {
            wire,
            address: address.clone(),
            slots: Slots::one(),
            cluster: address.is_cluster(),
            learned: false,
            greeted: false,
        }
    }

    pub(crate) fn address(&self) -> &Address {
        &self.address
    }

    /// Carries out all commands of the frame: in one round trip, when nothing goes wrong.
    pub(crate) async fn run(&mut self, frame: Frame) -> Result<Replies> {
        match self.attempt(frame).await {
            (replies, None) => Ok(replies),
            (_, Some(error)) => Err(error),
        }
    }

    /// Does the same, and returns what is known about every unit even when not all could be carried out.
    pub(crate) async fn attempt(&mut self, frame: Frame) -> (Replies, Option<Error>) {
        let units = frame.seal();
        let mut replies: Vec<(Fate, Reply)> = Vec::new();
        replies.resize_with(units.len(), || (Fate::Unsent, Reply::default()));
        let error = self.deliver(&units, &mut replies).await.err();
        (Replies::new(replies), error)
    }

    async fn deliver(&mut self, units: &[Sealed], replies: &mut [(Fate, Reply)]) -> Result<()> {
        if self.cluster && !self.learned {
            self.learn().await?;
        }
        // The units that are not done, and the node to ask if it is not the owner of the slot.
        let mut waiting: Vec<(usize, Option<Node>)> = (0..units.len()).map(|i| (i, None)).collect();
        let begin = Instant::now();
        let mut pause = PAUSES.0;
        let mut rounds = 0;
        loop {
            let asking: Vec<Option<Pipeline>> = waiting
                .iter()
                .map(|(index, asked)| asked.as_ref().map(|_| units[*index].asking()))
                .collect();
            let parcels: Vec<Parcel<'_>> = waiting
                .iter()
                .zip(&asking)
                .map(|((index, asked), asking)| {
                    let unit = &units[*index];
                    Parcel {
                        node: asked
                            .as_ref()
                            .unwrap_or(self.slots.owner(unit.slot))
                            .clone(),
                        pipeline: asking.as_ref().unwrap_or(&unit.pipeline),
                    }
                })
                .collect();
            let results = self.wire.exchange(&parcels).await;
            let mut again = Vec::new();
            let (mut trouble, mut failed) = (None, None);
            let mut moved = false;
            for (((index, asked), parcel), result) in waiting.iter().zip(&parcels).zip(results) {
                let unit = &units[*index];
                let (fate, reply) = &mut replies[*index];
                let ran = match &result {
                    Ok(values) => unit.ran(values, asked.is_some()),
                    Err(broken) => broken.sent,
                };
                match self.judge(unit, asked.is_some(), &parcel.node, result) {
                    Verdict::Done(answers) => {
                        *fate = match *fate {
                            Fate::Lost => Fate::Repeated,
                            _ => Fate::Answered,
                        };
                        *reply = answers;
                        continue;
                    }
                    Verdict::Moved(node) => {
                        self.cluster = true;
                        moved = true;
                        self.slots.moved(unit.slot, &node);
                        again.push((*index, None));
                    }
                    Verdict::Ask(node) => again.push((*index, Some(node))),
                    Verdict::Again(error) => {
                        trouble = Some(error);
                        again.push((*index, None));
                    }
                    Verdict::Fail(error) => failed = Some(error),
                }
                if ran {
                    *fate = Fate::Lost;
                }
            }
            if let Some(error) = failed {
                return Err(error);
            }
            if again.is_empty() {
                return Ok(());
            }
            rounds += 1;
            if trouble.is_none() && rounds > REDIRECTIONS {
                trouble = Some(Error::Down {
                    message: "redirections without end".into(),
                });
            }
            if let Some(error) = trouble {
                if begin.elapsed() >= self.address.patience() {
                    return Err(error);
                }
                self.wire.pause(pause).await;
                pause = (pause * 2).min(PAUSES.1);
                moved = true;
            }
            if self.cluster && moved {
                // The old table stays in use when no node can answer.
                let _ = self.learn().await;
            }
            waiting = again;
        }
    }

    fn judge(&mut self, unit: &Sealed, asking: bool, node: &Node, result: Delivery) -> Verdict {
        let values = match result {
            Ok(values) => values,
            Err(Broken { error, .. }) => {
                let error = Error::from_client(error, &self.name_of(node));
                let passes = error.is_transient() && self.greeted;
                return match passes {
                    true => Verdict::Again(error),
                    false => Verdict::Fail(error),
                };
            }
        };
        self.greeted = true;
        let error = values.iter().find_map(|value| match value {
            Value::ServerError(error) => Some(error),
            _ => None,
        });
        let Some(error) = error else {
            return match unit.reply(values, asking) {
                Ok(reply) => Verdict::Done(reply),
                Err(error) => Verdict::Fail(error),
            };
        };
        match error.kind() {
            Some(kind @ (ServerErrorKind::Moved | ServerErrorKind::Ask)) => {
                let place = error
                    .details()
                    .and_then(|details| details.split(' ').nth(1));
                match place.and_then(|place| redirected(place, &self.host_of(node))) {
                    Some(node) if kind == ServerErrorKind::Moved => Verdict::Moved(node),
                    Some(node) => Verdict::Ask(node),
                    None => Verdict::Fail(Error::from_server(error)),
                }
            }
            Some(ServerErrorKind::ReadOnly) if self.cluster => {
                Verdict::Again(Error::from_server(error))
            }
            _ => match Error::from_server(error) {
                error @ Error::Down { .. } => Verdict::Again(error),
                error => Verdict::Fail(error),
            },
        }
    }

    /// Asks any node that answers which node has which slot.
    async fn learn(&mut self) -> Result<()> {
        let mut nodes = self.slots.nodes().to_vec();
        if !nodes.contains(&Node::Given) {
            nodes.push(Node::Given);
        }
        let mut trouble = None;
        for node in nodes {
            let mut pipeline = Pipeline::new();
            pipeline.cmd("CLUSTER").arg("SLOTS");
            let host = self.host_of(&node);
            let server = self.name_of(&node);
            let mut results = self
                .wire
                .exchange(&[Parcel {
                    node,
                    pipeline: &pipeline,
                }])
                .await;
            let answer = results.pop().and_then(|result| match result {
                Ok(mut values) => values.pop(),
                Err(Broken { error, .. }) => {
                    trouble = Some(Error::from_client(error, &server));
                    None
                }
            });
            match answer {
                Some(Value::ServerError(error)) => trouble = Some(Error::from_server(&error)),
                Some(value) => {
                    if let Some(slots) = Slots::parse(&value, &host) {
                        self.slots = slots;
                        self.learned = true;
                        self.greeted = true;
                        return Ok(());
                    }
                }
                None => {}
            }
        }
        Err(trouble.unwrap_or_else(|| Error::Down {
            message: "no node knows the slots of the cluster".into(),
        }))
    }

    fn host_of(&self, node: &Node) -> String {
        match (node, self.address.info().addr()) {
            (Node::Named(host, _), _)
            | (
                Node::Given,
                redis::ConnectionAddr::Tcp(host, _) | redis::ConnectionAddr::TcpTls { host, .. },
            ) => host.clone(),
            (Node::Given, _) => "localhost".into(),
        }
    }

    fn name_of(&self, node: &Node) -> String {
        match node {
            Node::Given => self.address.info().addr().to_string(),
            Node::Named(host, port) => format!("{host}:{port}"),
        }
    }
}

/// Polls a future that never waits, and returns its value.
pub(crate) fn ready<F: Future>(future: F) -> F::Output {
    let mut context = Context::from_waker(Waker::noop());
    match pin!(future).poll(&mut context) {
        Poll::Ready(value) => value,
        Poll::Pending => unreachable!("a blocking wire finishes before it returns"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frame::Ticket;
    use crate::slots::ServerKey;
    use std::collections::VecDeque;

    /// A wire that answers from a script, in RESP, and records what it was asked.
    struct Script {
        answers: VecDeque<Vec<&'static str>>,
        asked: Vec<Vec<(Node, String)>>,
    }

    impl Wire for Script {
        async fn exchange(&mut self, parcels: &[Parcel<'_>]) -> Vec<Delivery> {
            let words = |parcel: &Parcel<'_>| {
                let commands = parcel.pipeline.cmd_iter();
                let names = commands.map(|command| match command.args_iter().next() {
                    Some(redis::Arg::Simple(name)) => String::from_utf8_lossy(name).into_owned(),
                    _ => String::new(),
                });
                let names: Vec<String> = names.collect();
                (parcel.node.clone(), names.join(" "))
            };
            self.asked.push(parcels.iter().map(words).collect());
            let answers = self.answers.pop_front().expect("no more is asked");
            assert_eq!(answers.len(), parcels.len(), "{:?}", self.asked.last());
            let answers = answers.into_iter().map(|answer| match answer {
                "broken" | "unreachable" => Err(Broken {
                    error: std::io::Error::from(std::io::ErrorKind::BrokenPipe).into(),
                    sent: answer == "broken",
                }),
                answer => {
                    let value = redis::parse_redis_value(format!("*{answer}").as_bytes());
                    match value.expect("RESP") {
                        Value::Array(values) => Ok(values),
                        other => panic!("{other:?}"),
                    }
                }
            });
            answers.collect()
        }

        async fn pause(&self, _: Duration) {}
    }

    fn router(address: &str, answers: &[&[&'static str]]) -> Router<Script> {
        let address: Address = address.parse().expect("valid");
        let script = Script {
            answers: answers.iter().map(|answers| answers.to_vec()).collect(),
            asked: Vec::new(),
        };
        Router::new(&address.with_patience(Duration::from_secs(3600)), script)
    }

    fn key(name: &str) -> ServerKey {
        ServerKey::new(name.into())
    }

    fn get(frame: &mut Frame, name: &str) -> Ticket {
        frame.plain(&key(name), redis::cmd("GET").arg(name).take())
    }

    const SLOTS_ANSWER: &str = "1\r\n*2\r\n\
        *3\r\n:0\r\n:8191\r\n*2\r\n$1\r\na\r\n:1\r\n\
        *3\r\n:8192\r\n:16383\r\n*2\r\n$1\r\nb\r\n:2\r\n";

    fn named(host: &str, port: u16) -> Node {
        Node::Named(host.into(), port)
    }

    #[test]
    fn answers_find_their_commands() {
        let mut router = router(
            "redis://h#x",
            &[&[
                "6\r\n+OK\r\n+QUEUED\r\n+QUEUED\r\n*2\r\n:1\r\n:2\r\n:3\r\n:4\r\n",
                "1\r\n:5\r\n",
            ]],
        );
        let mut frame = Frame::new();
        let third = get(&mut frame, "a");
        let first = frame.atomic(&key("a"), redis::cmd("STRLEN"));
        let fifth = get(&mut frame, "b");
        let second = frame.atomic(&key("a"), redis::cmd("BITFIELD"));
        let fourth = get(&mut frame, "a");

        let mut replies = ready(router.run(frame)).expect("answered");

        let tickets = [first, second, third, fourth, fifth];
        let answers = tickets.map(|ticket| replies.take(ticket));
        assert_eq!(answers, [1, 2, 3, 4, 5].map(Value::Int));
        let asked = &router.wire.asked[0];
        assert_eq!(asked[0].1, "MULTI STRLEN BITFIELD EXEC GET GET");
        assert_eq!(asked[1].1, "GET");
    }

    #[test]
    fn only_what_was_redirected_is_sent_again() {
        // "foo" is in slot 12182, "bar" in 5061.
        let mut router = router(
            "redis+cluster://h#x",
            &[
                &[SLOTS_ANSWER],
                &["1\r\n:1\r\n", "1\r\n-MOVED 12182 c:3\r\n"],
                &[SLOTS_ANSWER],
                &["1\r\n-ASK 12182 d:4\r\n"],
                &["2\r\n+OK\r\n:2\r\n"],
            ],
        );
        let mut frame = Frame::new();
        let tickets = ["bar", "foo"].map(|name| get(&mut frame, name));

        let mut replies = ready(router.run(frame)).expect("answered");

        let answers = tickets.map(|ticket| replies.take(ticket));
        assert_eq!(answers, [1, 2].map(Value::Int));
        let asked = &router.wire.asked;
        assert_eq!(
            asked[1],
            [(named("a", 1), "GET".into()), (named("b", 2), "GET".into())]
        );
        assert_eq!(asked[4], [(named("d", 4), "ASKING GET".into())]);
    }

    #[test]
    fn a_transaction_is_asked_for_as_one() {
        let mut router = router(
            "redis+cluster://h#x",
            &[
                &[SLOTS_ANSWER],
                &["5\r\n+OK\r\n-ASK 5061 d:4\r\n-EXECABORT no\r\n:0\r\n:0\r\n"],
                &["8\r\n+OK\r\n+OK\r\n+QUEUED\r\n*1\r\n:1\r\n+OK\r\n:2\r\n+OK\r\n:3\r\n"],
            ],
        );
        let mut frame = Frame::new();
        let one = frame.atomic(&key("bar"), redis::cmd("STRLEN"));
        let others = ["bar", "bar"].map(|name| get(&mut frame, name));

        let mut replies = ready(router.run(frame)).expect("answered");

        assert_eq!(replies.take(one), Value::Int(1));
        let others = others.map(|ticket| replies.take(ticket));
        assert_eq!(others, [2, 3].map(Value::Int));
        let asked = &router.wire.asked[2][0].1;
        assert_eq!(asked, "ASKING MULTI STRLEN EXEC ASKING GET ASKING GET");
    }

    #[test]
    fn broken_connections_are_mended_only_once_greeted() {
        let mut frame = Frame::new();
        get(&mut frame, "a");
        let mut first = router("redis://h#x", &[&["broken"]]);
        let error = ready(first.run(frame)).expect_err("never greeted");
        assert!(matches!(error, Error::Unreachable { .. }), "{error}");

        let mut later = router(
            "redis://h#x",
            &[
                &["1\r\n:1\r\n"],
                &["broken"],
                &["1\r\n-LOADING soon\r\n"],
                &["1\r\n:2\r\n"],
            ],
        );
        for expected in [1, 2] {
            let mut frame = Frame::new();
            let ticket = get(&mut frame, "a");
            let mut replies = ready(later.run(frame)).expect("answered");
            assert_eq!(replies.take(ticket), Value::Int(expected));
        }
    }

    #[test]
    fn units_that_may_have_been_carried_out_before_are_distinguished() {
        let queued = "4\r\n+OK\r\n+QUEUED\r\n*1\r\n*1\r\n:1\r\n:0\r\n";
        let refused = "4\r\n+OK\r\n-LOADING soon\r\n-EXECABORT no\r\n:0\r\n";
        for (trouble, fate) in [
            ("broken", Fate::Repeated),
            ("unreachable", Fate::Answered),
            (refused, Fate::Answered),
        ] {
            let mut router = router("redis://h#x", &[&["1\r\n:1\r\n"], &[trouble], &[queued]]);
            let mut first = Frame::new();
            get(&mut first, "a");
            ready(router.run(first)).expect("greeted");
            let mut frame = Frame::new();
            let set = frame.atomic(&key("a"), redis::cmd("BITFIELD"));
            get(&mut frame, "a");

            let (replies, error) = ready(router.attempt(frame));

            assert!(error.is_none());
            assert_eq!(replies.fate(set), fate, "{trouble}");
        }
        for (trouble, fate) in [("broken", Fate::Lost), ("unreachable", Fate::Unsent)] {
            let mut router = router("redis://h#x", &[&[trouble]]);
            let mut frame = Frame::new();
            let set = frame.atomic(&key("a"), redis::cmd("BITFIELD"));

            let (replies, error) = ready(router.attempt(frame));

            assert!(error.is_some());
            assert_eq!(replies.fate(set), fate, "{trouble}");
        }
    }

    #[test]
    fn patience_ends_and_errors_that_stay_are_not_waited_for() {
        let mut router = router(
            "redis://h#x",
            &[
                &["1\r\n-CLUSTERDOWN no\r\n"],
                &["1\r\n-READONLY no\r\n"],
                &["3\r\n+OK\r\n-OOM no\r\n-EXECABORT no\r\n"],
                &["3\r\n+OK\r\n+QUEUED\r\n*1\r\n-WRONGTYPE no\r\n"],
            ],
        );
        router.address = router.address.clone().with_patience(Duration::ZERO);
        let mut run = |atomic: bool| {
            let mut frame = Frame::new();
            match atomic {
                true => frame.atomic(&key("a"), redis::cmd("STRLEN")),
                false => get(&mut frame, "a"),
            };
            ready(router.run(frame)).expect_err("an error")
        };
        assert!(matches!(run(false), Error::Down { .. }));
        assert!(matches!(run(false), Error::ReadOnly { .. }));
        assert!(matches!(run(true), Error::OutOfMemory { .. }));
        assert!(matches!(run(true), Error::WrongType { .. }));
    }

    #[test]
    fn a_node_that_redirects_for_ever_is_given_up() {
        let moved: &[&'static str] = &["1\r\n-MOVED 12182 c:3\r\n"];
        let slots: &[&'static str] = &[SLOTS_ANSWER];
        let mut answers = vec![slots];
        for _ in 0..=REDIRECTIONS {
            answers.extend([moved, slots]);
        }
        let mut router = router("redis+cluster://h#x", &answers);
        router.address = router.address.clone().with_patience(Duration::ZERO);
        let mut frame = Frame::new();
        get(&mut frame, "foo");
        let error = ready(router.run(frame)).expect_err("without end");
        assert!(matches!(error, Error::Down { .. }), "{error}");
    }
}
