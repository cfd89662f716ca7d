//! Holds what evaluating needs: the config, what resolvers made, the work done so far.

use std::borrow::Cow;
use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::rc::Rc;

use super::settings::EvaluationSettings;
use super::{Address, Found, PathSegment, ResolveError, ResolveFault, Root, split_made, walk, walk_mut};
use crate::value::{Key, Map, Node, Value};

/// The values whose interpolations are being followed, to notice a cycle.
pub(crate) type Trail = Vec<Address>;

pub(crate) struct Evaluator<'a> {
    /// Copied when it is resolved in place.
    asked: RefCell<Cow<'a, Node>>,
    whole: Option<&'a Node>,
    pub(super) settings: &'a EvaluationSettings,
    made: RefCell<HashMap<Address, Rc<Node>>>,
    count: Cell<usize>,
    pub(super) budget: Budget,
}

impl<'a> Evaluator<'a> {
    /// An evaluator of `asked`; `whole` is the config whose `hydra` node `${hydra:…}` refers to.
    pub(crate) fn new(asked: &'a Node, whole: Option<&'a Node>, settings: &'a EvaluationSettings) -> Self {
        Self::of(Cow::Borrowed(asked), whole, settings)
    }

    fn of(asked: Cow<'a, Node>, whole: Option<&'a Node>, settings: &'a EvaluationSettings) -> Self {
        Self {
            asked: RefCell::new(asked),
            whole,
            settings,
            made: RefCell::default(),
            count: Cell::new(0),
            budget: Budget::default(),
        }
    }

    pub(super) fn working_copy(&self) -> Self {
        Self::of(self.asked.borrow().clone(), self.whole, self.settings)
    }

    pub(super) fn into_asked(self) -> Node {
        self.asked.into_inner().into_owned()
    }

    /// Replaces a value of the copy, or of what a resolver made. Nothing is left open.
    pub(super) fn replace(&self, address: &Address, value: Option<Value>) {
        let value = value.unwrap_or_else(|| Value::Str("???".to_owned()));
        if let Some((way, rest)) = split_made(address) {
            if let Some(made) = self.made.borrow_mut().get_mut(&way)
                && let Some(node) = walk_mut(Rc::make_mut(made), rest)
            {
                node.value = value;
            }
        } else if let Some(node) = walk_mut(self.asked.borrow_mut().to_mut(), &address.steps) {
            node.value = value;
        }
    }

    pub(super) fn has_whole(&self) -> bool {
        self.whole.is_some()
    }

    pub(super) fn with<T>(&self, address: &Address, show: impl FnOnce(Option<&Node>) -> T) -> T {
        if let Some((way, rest)) = split_made(address) {
            let made = self.made.borrow().get(&way).cloned();
            return show(made.as_deref().and_then(|node| walk(node, rest)));
        }
        match address.root {
            Root::Asked => show(walk(&self.asked.borrow(), &address.steps)),
            Root::Whole => show(self.whole.and_then(|root| walk(root, &address.steps))),
        }
    }

    pub(super) fn make(&self, parent: &Address, node: Node) -> Address {
        self.count.set(self.count.get() + 1);
        let address = parent.below(PathSegment::Made(self.count.get()));
        self.made.borrow_mut().insert(address.clone(), Rc::new(node));
        address
    }

    pub(crate) fn text_below_root(&self, text: &str) -> Result<Value, ResolveError> {
        let root = Address::root(Root::Asked);
        let mut map = Map::new();
        map.insert(Key::from("_"), Node::new(Value::Str(text.to_owned())));
        let parent = self.make(&root, Node::new(Value::Map(map)));
        let node = parent.below(PathSegment::Key(Key::from("_")));
        let found = self.follow(&node, &mut Vec::new());
        found.map(|found| self.value_of(&found)).map_err(|fault| self.error(&root, fault))
    }

    pub(crate) fn error(&self, address: &Address, fault: ResolveFault) -> ResolveError {
        ResolveError { key: address.text(), fault }
    }

    pub(crate) fn follow(&self, node: &Address, trail: &mut Trail) -> Result<Found, ResolveFault> {
        let text = self.with(node, |node| match node {
            Some(node) if node.is_interpolation() => node.as_str().map(str::to_owned),
            _ => None,
        });
        let (Some(text), Some(parent)) = (text, node.parent()) else {
            return Ok(Found::At(node.clone()));
        };
        self.text(&text, &parent, trail)
    }

    /// The value found, as it is written: interpolations inside it are not followed.
    pub(crate) fn value_of(&self, found: &Found) -> Value {
        match found {
            Found::Raw(value) => value.clone(),
            Found::At(address) => {
                self.with(address, |node| node.map_or(Value::Null, |node| node.value.clone()))
            }
        }
    }
}

/// How deep interpolations may refer to interpolations. Python's own limit is reached earlier.
const MAX_DEPTH: usize = 100;
/// How many levels of lists and mappings may be below each other, interpolations followed.
const MAX_NESTING: usize = crate::value::MAX_DEPTH;
/// How many interpolations may be followed: a chain of doublings ends here and not with memory.
const MAX_EVALUATIONS: usize = 1_000_000;
const MAX_VALUES: usize = 1_000_000;
const MAX_BYTES: usize = 64 << 20;

#[derive(Default)]
pub(super) struct Budget {
    depth: Cell<usize>,
    nesting: Cell<usize>,
    evaluations: Cell<usize>,
    values: Cell<usize>,
    bytes: Cell<usize>,
}

pub(super) struct Level<'a>(&'a Cell<usize>);

impl Drop for Level<'_> {
    fn drop(&mut self) {
        self.0.set(self.0.get().saturating_sub(1));
    }
}

impl Budget {
    pub(super) fn enter(&self) -> Result<Level<'_>, ResolveFault> {
        spend(&self.evaluations, 1, MAX_EVALUATIONS, "interpolations")?;
        if self.depth.get() >= MAX_DEPTH {
            return Err(ResolveFault::Other(format!("interpolations nested deeper than {MAX_DEPTH} levels")));
        }
        self.depth.set(self.depth.get() + 1);
        Ok(Level(&self.depth))
    }

    /// Enters one list or mapping more, by way of interpolations too.
    pub(super) fn descend(&self) -> Result<Level<'_>, ResolveFault> {
        if self.nesting.get() >= MAX_NESTING {
            return Err(too_much(MAX_NESTING, "levels"));
        }
        self.nesting.set(self.nesting.get() + 1);
        Ok(Level(&self.nesting))
    }

    pub(super) fn nested(levels: usize) -> Result<(), ResolveFault> {
        if levels > MAX_NESTING {
            return Err(too_much(MAX_NESTING, "levels"));
        }
        Ok(())
    }

    pub(super) fn values(&self, count: usize) -> Result<(), ResolveFault> {
        spend(&self.values, count, MAX_VALUES, "values")
    }

    pub(super) fn text(&self, bytes: usize) -> Result<(), ResolveFault> {
        spend(&self.bytes, bytes, MAX_BYTES, "bytes of text")
    }
}

fn spend(spent: &Cell<usize>, amount: usize, limit: usize, what: &'static str) -> Result<(), ResolveFault> {
    let total = spent.get().saturating_add(amount);
    if total > limit {
        return Err(too_much(limit, what));
    }
    spent.set(total);
    Ok(())
}

fn too_much(limit: usize, what: &str) -> ResolveFault {
    ResolveFault::Other(format!("resolving the config produces more than {limit} {what}"))
}
