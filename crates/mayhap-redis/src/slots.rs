//! The slots of a cluster: which node has a key.

use redis::Value;

/// The slots of a cluster.
const SLOTS: u16 = 16384;

/// The slot of a server key: CRC-16/XMODEM of its hash tag, or of the whole key without one.
fn slot(key: &str) -> u16 {
    let tag = key.split_once('{').and_then(|(_, rest)| {
        let (tag, _) = rest.split_once('}')?;
        (!tag.is_empty()).then_some(tag)
    });
    crc16(tag.unwrap_or(key).as_bytes()) % SLOTS
}

/// A key of the server, and its slot.
#[derive(Debug, Clone)]
pub(crate) struct ServerKey {
    pub(crate) key: String,
    pub(crate) slot: u16,
}

impl ServerKey {
    pub(crate) fn new(key: String) -> ServerKey {
        ServerKey {
            slot: slot(&key),
            key,
        }
    }
}

fn crc16(bytes: &[u8]) -> u16 {
    bytes.iter().fold(0, |crc: u16, byte| {
        (0..8).fold(crc ^ u16::from(*byte) << 8, |crc, _| match crc >> 15 {
            0 => crc << 1,
            _ => crc << 1 ^ 0x1021,
        })
    })
}

/// A server: the one that was given, or one that the cluster named.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) enum Node {
    Given,
    Named(String, u16),
}

/// The node of each slot. Before anything is known, the given one has all.
#[derive(Debug, Clone)]
pub(crate) struct Slots {
    /// The master of each slot, as its index in `nodes`.
    owners: Vec<u16>,
    nodes: Vec<Node>,
}

impl Slots {
    /// All slots at the server that was given.
    pub(crate) fn one() -> Slots {
        Slots {
            owners: vec![0; usize::from(SLOTS)],
            nodes: vec![Node::Given],
        }
    }

    /// The master of a slot.
    pub(crate) fn owner(&self, slot: u16) -> &Node {
        &self.nodes[usize::from(self.owners[usize::from(slot)])]
    }

    /// Every master, once.
    pub(crate) fn nodes(&self) -> &[Node] {
        &self.nodes
    }

    /// Records a redirection.
    pub(crate) fn moved(&mut self, slot: u16, node: &Node) {
        let place = self.place(node.clone());
        if let Some(owner) = self.owners.get_mut(usize::from(slot)) {
            *owner = place;
        }
    }

    fn place(&mut self, node: Node) -> u16 {
        let known = self.nodes.iter().position(|other| *other == node);
        let place = known.unwrap_or_else(|| {
            self.nodes.push(node);
            self.nodes.len() - 1
        });
        place as u16
    }

    /// Parses the answer of `host` to `CLUSTER SLOTS`; `None` when it names no master.
    pub(crate) fn parse(value: &Value, host: &str) -> Option<Slots> {
        let Value::Array(ranges) = value else {
            return None;
        };
        let mut slots = Slots {
            owners: vec![u16::MAX; usize::from(SLOTS)],
            nodes: Vec::new(),
        };
        for range in ranges {
            let Value::Array(range) = range else {
                return None;
            };
            let [
                Value::Int(first),
                Value::Int(last),
                Value::Array(master),
                ..,
            ] = &range[..]
            else {
                return None;
            };
            let place = slots.place(node(master, host)?);
            for slot in *first..=*last {
                *slots.owners.get_mut(usize::try_from(slot).ok()?)? = place;
            }
        }
        // A slot that nobody has can be asked of any node: the cluster reports what is wrong.
        for owner in &mut slots.owners {
            if usize::from(*owner) >= slots.nodes.len() {
                *owner = 0;
            }
        }
        (!slots.nodes.is_empty()).then_some(slots)
    }
}

/// Parses a node of the answer to `CLUSTER SLOTS`. One that does not know its own host is the one we asked.
fn node(fields: &[Value], host: &str) -> Option<Node> {
    let [name, Value::Int(port), ..] = fields else {
        return None;
    };
    let named = match name {
        Value::BulkString(name) => std::str::from_utf8(name).ok()?,
        Value::SimpleString(name) => name,
        _ => "",
    };
    let known = !matches!(named, "" | "?");
    let host = if known { named } else { host };
    Some(Node::Named(host.into(), u16::try_from(*port).ok()?))
}

/// Parses the node in a redirection, `host:port`.
pub(crate) fn redirected(address: &str, host: &str) -> Option<Node> {
    let (name, port) = address.rsplit_once(':')?;
    let name = if name.is_empty() { host } else { name };
    Some(Node::Named(name.into(), port.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slots_are_those_of_the_cluster_specification() {
        assert_eq!(crc16(b"123456789"), 0x31C3);
        assert_eq!(slot("foo"), 12182);
        assert_eq!(slot("{user1000}.following"), slot("{user1000}.followers"));
        assert_eq!(slot("foo{}{bar}"), crc16(b"foo{}{bar}") % SLOTS);
        assert_eq!(slot("foo{{bar}}zap"), crc16(b"{bar") % SLOTS);
        assert_eq!(slot("foo{bar}{zap}"), slot("bar"));
    }

    #[test]
    fn the_table_follows_answers_and_redirections() {
        let master = |host: &str, port| {
            Value::Array(vec![
                Value::BulkString(host.into()),
                Value::Int(port),
                Value::BulkString("id".into()),
            ])
        };
        let range =
            |first, last, master| Value::Array(vec![Value::Int(first), Value::Int(last), master]);
        let answer = Value::Array(vec![
            range(0, 8000, master("a", 1)),
            range(8001, 16383, master("", 2)),
        ]);

        let mut slots = Slots::parse(&answer, "here").expect("valid");

        assert_eq!(*slots.owner(8000), Node::Named("a".into(), 1));
        assert_eq!(*slots.owner(8001), Node::Named("here".into(), 2));
        let third = redirected("c:3", "here").expect("valid");
        slots.moved(8001, &third);
        assert_eq!(*slots.owner(8001), third);
        assert_eq!(slots.nodes().len(), 3);
    }

    #[test]
    fn an_invalid_answer_is_refused() {
        for answer in [
            Value::Nil,
            Value::Array(vec![]),
            Value::Array(vec![Value::Int(3)]),
            Value::Array(vec![Value::Array(vec![Value::Int(0), Value::Int(99_999)])]),
        ] {
            assert!(Slots::parse(&answer, "here").is_none(), "{answer:?}");
        }
    }
}
