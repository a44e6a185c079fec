//! Connections that block, one to each node.

use std::collections::HashMap;
use std::time::Duration;

use redis::{Client, Connection, RedisError, RedisResult, Value};

use crate::Address;
use crate::router::{Parcel, Wire};
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
            let client = Client::open(info)?;
            let connection = client.get_connection_with_timeout(address.timeout())?;
            connection.set_read_timeout(Some(address.timeout()))?;
            connection.set_write_timeout(Some(address.timeout()))?;
            connections.insert(node.clone(), connection);
        }
        Ok(connections.get_mut(node).expect("it was just put there"))
    }

    fn send(&mut self, parcels: &[Parcel<'_>]) -> HashMap<Node, RedisError> {
        let mut bytes: HashMap<&Node, Vec<u8>> = HashMap::new();
        for parcel in parcels {
            let bytes = bytes.entry(&parcel.node).or_default();
            bytes.extend(parcel.pipeline.get_packed_pipeline());
        }
        let mut broken = HashMap::new();
        for (node, bytes) in bytes {
            let sent = self
                .connection(node)
                .and_then(|connection| connection.send_packed_command(&bytes));
            if let Err(error) = sent {
                self.connections.remove(node);
                broken.insert(node.clone(), error);
            }
        }
        broken
    }

    fn receive(&mut self, parcel: &Parcel<'_>) -> RedisResult<Vec<Value>> {
        let connection = self.connection(&parcel.node)?;
        let count = parcel.pipeline.len();
        (0..count).map(|_| connection.recv_response()).collect()
    }
}

impl Wire for BlockingWire {
    async fn exchange(&mut self, parcels: &[Parcel<'_>]) -> Vec<RedisResult<Vec<Value>>> {
        let mut broken = self.send(parcels);
        let receive = |parcel: &Parcel<'_>| {
            if let Some(error) = broken.get(&parcel.node) {
                return Err(error.clone());
            }
            let result = self.receive(parcel);
            if let Err(error) = &result {
                // Answers may be on their way still: no later command may take them for its own.
                self.connections.remove(&parcel.node);
                broken.insert(parcel.node.clone(), error.clone());
            }
            result
        };
        parcels.iter().map(receive).collect()
    }

    async fn pause(&self, time: Duration) {
        std::thread::sleep(time);
    }
}
