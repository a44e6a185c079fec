//! Connections that wait without blocking, one to each node, shared by every clone of a filter.

use std::collections::HashMap;
use std::time::Duration;

use redis::aio::MultiplexedConnection;
use redis::{AsyncConnectionConfig, Client, ConnectionAddr, ErrorKind, RedisResult};

use crate::Address;
use crate::router::{Broken, Delivery, Parcel, Wire};
use crate::slots::Node;

#[derive(Clone)]
pub(crate) struct TokioWire {
    address: Address,
    connections: HashMap<Node, MultiplexedConnection>,
}

impl TokioWire {
    pub(crate) fn new(address: &Address) -> TokioWire {
        TokioWire {
            address: address.clone(),
            connections: HashMap::new(),
        }
    }

    async fn connect(&self, node: &Node) -> RedisResult<MultiplexedConnection> {
        let info = match node {
            Node::Given => self.address.info().clone(),
            Node::Named(host, port) => self.address.node(host, *port),
        };
        let is_secure = matches!(info.addr(), ConnectionAddr::TcpTls { .. });
        if is_secure && cfg!(not(feature = "tokio-tls")) {
            let text = "rediss:// needs the feature `tokio-tls` of mayhap-redis";
            return Err((ErrorKind::InvalidClientConfig, text).into());
        }
        let limits = AsyncConnectionConfig::new()
            .set_connection_timeout(Some(self.address.timeout()))
            .set_response_timeout(Some(self.address.timeout()));
        let client = Client::open(info)?;
        client
            .get_multiplexed_async_connection_with_config(&limits)
            .await
    }
}

impl Wire for TokioWire {
    async fn exchange(&mut self, parcels: &[Parcel<'_>]) -> Vec<Delivery> {
        let mut broken = HashMap::new();
        for Parcel { node, .. } in parcels {
            if self.connections.contains_key(node) || broken.contains_key(node) {
                continue;
            }
            match self.connect(node).await {
                Ok(connection) => drop(self.connections.insert(node.clone(), connection)),
                Err(error) => drop(broken.insert(node.clone(), error)),
            }
        }
        let connections = &self.connections;
        let broken = &broken;
        let exchanges = parcels.iter().map(|Parcel { node, pipeline }| async move {
            match connections.get(node).cloned() {
                Some(mut connection) => {
                    let count = pipeline.len();
                    let answers = connection.send_packed_commands(pipeline, 0, count);
                    answers.await.map_err(|error| Broken { error, sent: true })
                }
                None => Err(Broken {
                    error: broken[node].clone(),
                    sent: false,
                }),
            }
        });
        let results = futures_util::future::join_all(exchanges).await;
        for (parcel, result) in parcels.iter().zip(&results) {
            if result.is_err() {
                self.connections.remove(&parcel.node);
            }
        }
        results
    }

    async fn pause(&self, time: Duration) {
        tokio::time::sleep(time).await;
    }
}
