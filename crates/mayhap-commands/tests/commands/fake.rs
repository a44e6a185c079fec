//! A server in memory.

use std::any::Any;
use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::ffi::CStr;

use mayhap_commands::{
    Argument, Failure, Found, Key, Log, Memory, Outcome, Server, Value, bf, cf, native,
};

/// A word of a command.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Word(pub(crate) Vec<u8>);

impl Argument for Word {
    fn bytes(&self) -> &[u8] {
        &self.0
    }
}

/// The words of a command.
pub(crate) fn words(line: &str) -> Vec<Word> {
    line.split(' ').map(|word| Word(word.into())).collect()
}

/// A reply, or a part of one.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Reply {
    Integer(i64),
    Boolean(bool),
    Double(f64),
    Null,
    Bulk(Vec<u8>),
    Simple(String),
    Array(usize),
    Map(usize),
    Error(String),
}

/// The server.
#[derive(Default)]
pub(crate) struct Fake {
    values: RefCell<HashMap<Vec<u8>, Box<dyn Any>>>,
    replies: RefCell<Vec<Reply>>,
    /// The commands that were sent to replicas.
    pub(crate) replicated: RefCell<Vec<Vec<Word>>>,
    running: RefCell<Vec<Word>>,
    /// Another server has accepted the commands.
    obeys: bool,
    memory: Memory,
    pub(crate) clock: Cell<u64>,
}

impl Fake {
    /// A replica or a server that reads a log.
    pub(crate) fn obeying() -> Fake {
        Fake {
            obeys: true,
            ..Fake::default()
        }
    }

    /// The server with this memory.
    pub(crate) fn with(self, memory: Memory) -> Fake {
        Fake { memory, ..self }
    }

    /// Runs a command, and returns its reply, part by part.
    pub(crate) fn run_line(&self, line: &str) -> Vec<Reply> {
        self.run_words(&words(line))
    }

    /// Runs a command, and returns its reply, part by part.
    pub(crate) fn run_words(&self, arguments: &[Word]) -> Vec<Reply> {
        *self.running.borrow_mut() = arguments.to_vec();
        if let Err(failure) = self.call(arguments) {
            self.say(Reply::Error(match failure {
                Failure::Arity => "wrong number of arguments".into(),
                Failure::Text(text) => text.to_string_lossy().into(),
                Failure::Made(text) => text,
            }));
        }
        self.replies.take()
    }

    fn call(&self, arguments: &[Word]) -> Outcome {
        let name = String::from_utf8_lossy(&arguments[0].0).to_uppercase();
        let command = match name.as_str() {
            "BF.RESERVE" => bf::reserve::<Fake>,
            "BF.ADD" => bf::add,
            "BF.MADD" => bf::madd,
            "BF.INSERT" => bf::insert,
            "BF.EXISTS" => bf::exists,
            "BF.MEXISTS" => bf::mexists,
            "BF.CARD" => bf::card,
            "BF.INFO" => bf::info,
            "BF.SCANDUMP" => bf::scandump,
            "BF.LOADCHUNK" => bf::loadchunk,
            "BF.LOAD" => bf::load,
            "BF.DEBUG" => bf::debug,
            "CF.RESERVE" => cf::reserve,
            "CF.ADD" => cf::add,
            "CF.ADDNX" => cf::addnx,
            "CF.INSERT" => cf::insert,
            "CF.INSERTNX" => cf::insertnx,
            "CF.EXISTS" => cf::exists,
            "CF.MEXISTS" => cf::mexists,
            "CF.COUNT" => cf::count,
            "CF.DEL" => cf::del,
            "CF.COMPACT" => cf::compact,
            "CF.INFO" => cf::info,
            "CF.SCANDUMP" => cf::scandump,
            "CF.LOADCHUNK" => cf::loadchunk,
            "MAYHAP.NEW" => native::new,
            "MAYHAP.ADD" => native::add,
            "MAYHAP.CONTAINS" => native::contains,
            "MAYHAP.REMOVE" => native::remove,
            "MAYHAP.COUNT" => native::count,
            "MAYHAP.AREA" => native::area,
            "MAYHAP.SETAREA" => native::set_area,
            "MAYHAP.MERGE" => native::merge,
            "MAYHAP.INFO" => native::info,
            "MAYHAP.ROTATE" => native::rotate,
            "MAYHAP.DUMP" => native::dump,
            "MAYHAP.RESTORE" => native::restore,
            other => panic!("no command {other}"),
        };
        command(self, arguments)
    }

    fn say(&self, reply: Reply) {
        self.replies.borrow_mut().push(reply);
    }

    fn open(&self, name: &Word) -> Open<'_> {
        Open {
            server: self,
            name: name.0.clone(),
            value: self.values.borrow_mut().remove(&name.0),
        }
    }

    /// The bytes of the value of this type under a key.
    pub(crate) fn bytes_of<V: Value>(&self, name: &str) -> Option<Vec<u8>> {
        let values = self.values.borrow();
        let value = values.get(name.as_bytes())?.downcast_ref::<V>()?;
        let mut bytes = Vec::new();
        value.write_alike(&mut bytes).expect("memory");
        Some(bytes)
    }

    /// The commands that make the value of this type under a key again.
    pub(crate) fn log_of<V: Value>(&self, name: &str) -> Vec<Vec<Word>> {
        let mut log = Rewritten(name.into(), Vec::new());
        let values = self.values.borrow();
        let value = values.get(name.as_bytes()).expect("a value");
        let value = value.downcast_ref::<V>().expect("of this type");
        value.rewrite(&mut log).expect("memory");
        log.1
    }
}

/// A log of the commands that make a value.
struct Rewritten(Vec<u8>, Vec<Vec<Word>>);

impl Log for Rewritten {
    fn whole(&mut self, name: &CStr, bytes: &[u8]) {
        let words = [name.to_bytes(), &self.0, bytes];
        self.1.push(words.map(|word| Word(word.into())).to_vec());
    }

    fn piece(&mut self, name: &CStr, iterator: u64, bytes: &[u8]) {
        let iterator = iterator.to_string();
        let words = [name.to_bytes(), &self.0, iterator.as_bytes(), bytes];
        self.1.push(words.map(|word| Word(word.into())).to_vec());
    }
}

/// A key that is open: its value is back in the server when it is closed.
pub(crate) struct Open<'k> {
    server: &'k Fake,
    name: Vec<u8>,
    value: Option<Box<dyn Any>>,
}

impl Key for Open<'_> {
    fn find<V: Value>(&mut self) -> Found<'_, V> {
        match &mut self.value {
            None => Found::Missing,
            Some(value) => value.downcast_mut().map_or(Found::Other, Found::Value),
        }
    }

    fn put<V: Value>(&mut self, value: V) {
        self.value = Some(Box::new(value));
    }
}

impl Drop for Open<'_> {
    fn drop(&mut self) {
        if let Some(value) = self.value.take() {
            let name = std::mem::take(&mut self.name);
            self.server.values.borrow_mut().insert(name, value);
        }
    }
}

impl Server for Fake {
    type Argument = Word;
    type Key<'k> = Open<'k>;

    fn integer(&self, value: i64) {
        self.say(Reply::Integer(value));
    }

    fn boolean(&self, value: bool) {
        self.say(Reply::Boolean(value));
    }

    fn double(&self, value: f64) {
        self.say(Reply::Double(value));
    }

    fn null(&self) {
        self.say(Reply::Null);
    }

    fn bulk(&self, bytes: &[u8]) {
        self.say(Reply::Bulk(bytes.into()));
    }

    fn simple(&self, text: &CStr) {
        self.say(Reply::Simple(text.to_string_lossy().into()));
    }

    fn array(&self, length: usize) {
        self.say(Reply::Array(length));
    }

    fn map(&self, length: usize) {
        self.say(Reply::Map(length));
    }

    fn is_resp3(&self) -> bool {
        true
    }

    fn must_obey(&self) -> bool {
        self.obeys
    }

    fn read(&self, name: &Word) -> Open<'_> {
        self.open(name)
    }

    fn write(&self, name: &Word) -> Open<'_> {
        self.open(name)
    }

    fn replicate(&self) {
        let running = self.running.borrow().clone();
        self.replicated.borrow_mut().push(running);
    }

    fn replicate_as(&self, command: &CStr, key: &Word, words: &[&[u8]], rest: &[Word]) {
        let mut all = vec![Word(command.to_bytes().into()), key.clone()];
        all.extend(words.iter().map(|word| Word(word.to_vec())));
        all.extend(rest.iter().cloned());
        self.replicated.borrow_mut().push(all);
    }

    fn run(&self, command: &CStr, key: &Word, rest: &[Word]) -> Outcome {
        let mut all = vec![Word(command.to_bytes().into()), key.clone()];
        all.extend(rest.iter().cloned());
        *self.running.borrow_mut() = all.clone();
        self.call(&all)
    }

    fn notify(&self, _: &CStr, _: &Word) {}

    fn memory(&self) -> Memory {
        self.memory
    }

    fn now(&self) -> u64 {
        self.clock.get()
    }
}
