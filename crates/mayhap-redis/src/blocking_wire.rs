//! Connections that block, one to each node.

use std::collections::HashMap;
use std::time::Duration;

use redis::{RedisResult, Value};

use crate::Address;
use crate::connection::Connection;
use crate::router::{Broken, Delivery, Parcel, Wire};
use crate::slots::Node;

pub(crate) struct BlockingWire {
    address: Address,
    connections: HashMap<Node, Connection>,
}

impl BlockingWire {
    pub(crate) fn new(address: &Address) -> BlockingWire {
        BlockingWire {
            address: address.clone(),
            connections: HashMap::new(),
        }
    }

    fn connection(&mut self, node: &Node) -> RedisResult<&mut Connection> {
        let BlockingWire {
            address,
            connections,
        } = self;
        if !connections.contains_key(node) {
            let info = match node {
                Node::Given => address.info().clone(),
                Node::Named(host, port) => address.node(host, *port),
            };
            let connection = Connection::open(&info, address.timeout())?;
            connections.insert(node.clone(), connection);
        }
        Ok(connections.get_mut(node).expect("it was just put there"))
    }

    fn send(&mut self, parcels: &[Parcel<'_>]) -> HashMap<Node, Broken> {
        let mut bytes: HashMap<&Node, Vec<u8>> = HashMap::new();
        for parcel in parcels {
            let bytes = bytes.entry(&parcel.node).or_default();
            bytes.extend(parcel.pipeline.get_packed_pipeline());
        }
        let timeout = self.address.timeout();
        let mut broken = HashMap::new();
        for (node, bytes) in bytes {
            let sent = match self.connection(node) {
                Ok(connection) => {
                    connection.allow(timeout);
                    let sent = connection.send(&bytes);
                    sent.map_err(|error| Broken { error, sent: true })
                }
                Err(error) => Err(Broken { error, sent: false }),
            };
            if let Err(trouble) = sent {
                self.connections.remove(node);
                broken.insert(node.clone(), trouble);
            }
        }
        broken
    }

    fn receive(&mut self, parcel: &Parcel<'_>) -> RedisResult<Vec<Value>> {
        let connection = self.connection(&parcel.node)?;
        let count = parcel.pipeline.len();
        (0..count).map(|_| connection.receive()).collect()
    }
}

impl Wire for BlockingWire {
    async fn exchange(&mut self, parcels: &[Parcel<'_>]) -> Vec<Delivery> {
        let mut broken = self.send(parcels);
        let receive = |parcel: &Parcel<'_>| {
            if let Some(broken) = broken.get(&parcel.node) {
                return Err(broken.clone());
            }
            self.receive(parcel).map_err(|error| {
                // Answers may still arrive: no later command may mistake them for its own.
                self.connections.remove(&parcel.node);
                let trouble = Broken { error, sent: true };
                broken.insert(parcel.node.clone(), trouble.clone());
                trouble
            })
        };
        parcels.iter().map(receive).collect()
    }

    async fn pause(&self, time: Duration) {
        std::thread::sleep(time);
    }
}
