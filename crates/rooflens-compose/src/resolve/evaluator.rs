//! Holds what evaluating needs: the config, what resolvers made, the work done so far.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::rc::Rc;

use super::resolvers::EvaluationSettings;
use super::select::Found;
use super::{Address, PathSegment, Root, split_made, walk, walk_mut};
use super::{ResolveError, ResolveFault};
use crate::compose::ComposeWarning;
use crate::value::{Key, Map, Node, Value};

/// The values whose interpolations are being followed, to notice a cycle.
pub(crate) type Trail = Vec<Address>;

enum Asked<'a> {
    /// As it is.
    Given(&'a Node),
    /// A copy that is resolved in place.
    Working(Box<RefCell<Node>>),
}

/// Answers for the interpolations of one config.
pub(crate) struct Evaluator<'a> {
    asked: Asked<'a>,
    whole: Option<&'a Node>,
    pub(super) settings: &'a EvaluationSettings,
    /// What resolvers made, by its address.
    made: RefCell<HashMap<Address, Rc<Node>>>,
    count: Cell<usize>,
    pub(super) budget: Budget,
    warnings: RefCell<Vec<ComposeWarning>>,
}

/// The interpolation that is being evaluated: where it stands, and the container it stands in.
pub(super) struct Asking<'t> {
    pub(super) node: &'t Address,
    pub(super) parent: &'t Address,
}

impl<'a> Evaluator<'a> {
    /// An evaluator of `asked`; `whole` is the config whose `hydra` node `${hydra:…}` refers to.
    pub(crate) fn new(asked: &'a Node, whole: Option<&'a Node>, settings: &'a EvaluationSettings) -> Self {
        Self::of(Asked::Given(asked), whole, settings)
    }

    fn of(asked: Asked<'a>, whole: Option<&'a Node>, settings: &'a EvaluationSettings) -> Self {
        Self {
            asked,
            whole,
            settings,
            made: RefCell::default(),
            count: Cell::new(0),
            budget: Budget::default(),
            warnings: RefCell::default(),
        }
    }

    /// The same, over a copy of the config.
    pub(super) fn working_copy(&self) -> Self {
        let copy = match &self.asked {
            Asked::Given(node) => (*node).clone(),
            Asked::Working(node) => node.borrow().clone(),
        };
        Self::of(Asked::Working(Box::new(RefCell::new(copy))), self.whole, self.settings)
    }

    /// The config, as far as it is resolved.
    pub(super) fn into_asked(self) -> Node {
        match self.asked {
            Asked::Given(node) => node.clone(),
            Asked::Working(node) => node.into_inner(),
        }
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
        } else if let Asked::Working(root) = &self.asked
            && let Some(node) = walk_mut(&mut root.borrow_mut(), &address.steps)
        {
            node.value = value;
        }
    }

    /// What was odd.
    pub(crate) fn into_warnings(self) -> Vec<ComposeWarning> {
        self.warnings.into_inner()
    }

    pub(super) fn take_warnings(&self, other: &Self) {
        self.warnings.borrow_mut().append(&mut other.warnings.borrow_mut());
    }

    pub(super) fn warn(&self, warning: ComposeWarning) {
        self.warnings.borrow_mut().push(warning);
    }

    pub(super) fn has_whole(&self) -> bool {
        self.whole.is_some()
    }

    /// Shows a value, where there is one.
    pub(super) fn with<T>(&self, address: &Address, show: impl FnOnce(Option<&Node>) -> T) -> T {
        if let Some((way, rest)) = split_made(address) {
            let made = self.made.borrow().get(&way).cloned();
            return show(made.as_deref().and_then(|node| walk(node, rest)));
        }
        match (address.root, &self.asked) {
            (Root::Asked, Asked::Given(root)) => show(walk(root, &address.steps)),
            (Root::Asked, Asked::Working(root)) => show(walk(&root.borrow(), &address.steps)),
            (Root::Whole, _) => show(self.whole.and_then(|root| walk(root, &address.steps))),
        }
    }

    /// Puts something a resolver made into a container.
    pub(super) fn make(&self, parent: &Address, node: Node) -> Address {
        self.count.set(self.count.get() + 1);
        let address = parent.below(PathSegment::Made(self.count.get()));
        self.made.borrow_mut().insert(address.clone(), Rc::new(node));
        address
    }

    /// What a text that stands in a mapping of its own at the top comes to.
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

    /// Follows a value to what it comes to: itself, unless it is an interpolation.
    pub(crate) fn follow(&self, node: &Address, trail: &mut Trail) -> Result<Found, ResolveFault> {
        let text = self.with(node, |node| match node {
            Some(node) if node.is_interpolation() => node.as_str().map(str::to_owned),
            _ => None,
        });
        let (Some(text), Some(parent)) = (text, node.parent()) else {
            return Ok(Found::At(node.clone()));
        };
        self.text(&text, &Asking { node, parent: &parent }, trail)
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

/// Counts the work.
#[derive(Default)]
pub(super) struct Budget {
    depth: Cell<usize>,
    nesting: Cell<usize>,
    evaluations: Cell<usize>,
    values: Cell<usize>,
    bytes: Cell<usize>,
}

/// A level of nesting, until it is dropped.
pub(super) struct Level<'a>(&'a Cell<usize>);

impl Drop for Level<'_> {
    fn drop(&mut self) {
        self.0.set(self.0.get().saturating_sub(1));
    }
}

impl Budget {
    /// Enters one interpolation more.
    pub(super) fn enter(&self) -> Result<Level<'_>, ResolveFault> {
        spend(&self.evaluations, 1, MAX_EVALUATIONS, "interpolations")?;
        if self.depth.get() >= MAX_DEPTH {
            return Err(ResolveFault::TooDeep { limit: MAX_DEPTH });
        }
        self.depth.set(self.depth.get() + 1);
        Ok(Level(&self.depth))
    }

    /// Enters one list or mapping more, by way of interpolations too.
    pub(super) fn descend(&self) -> Result<Level<'_>, ResolveFault> {
        if self.nesting.get() >= MAX_NESTING {
            return Err(ResolveFault::TooMuch { limit: MAX_NESTING, what: "levels" });
        }
        self.nesting.set(self.nesting.get() + 1);
        Ok(Level(&self.nesting))
    }

    /// Makes a value so deep.
    pub(super) fn nested(levels: usize) -> Result<(), ResolveFault> {
        if levels > MAX_NESTING {
            return Err(ResolveFault::TooMuch { limit: MAX_NESTING, what: "levels" });
        }
        Ok(())
    }

    /// Makes so many more values.
    pub(super) fn values(&self, count: usize) -> Result<(), ResolveFault> {
        spend(&self.values, count, MAX_VALUES, "values")
    }

    /// Makes so much more text.
    pub(super) fn text(&self, bytes: usize) -> Result<(), ResolveFault> {
        spend(&self.bytes, bytes, MAX_BYTES, "bytes of text")
    }
}

fn spend(spent: &Cell<usize>, amount: usize, limit: usize, what: &'static str) -> Result<(), ResolveFault> {
    let total = spent.get().saturating_add(amount);
    if total > limit {
        return Err(ResolveFault::TooMuch { limit, what });
    }
    spent.set(total);
    Ok(())
}
