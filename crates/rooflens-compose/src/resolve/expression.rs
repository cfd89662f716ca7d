//! Evaluates the parts of an interpolation.

use super::Address;
use super::ResolveFault;
use super::evaluator::{Asking, Evaluator, Trail};
use super::resolvers::{self, Call};
use super::select::Found;
use crate::interpolation::{
    Interpolation, InterpolationElement, NodeReference, ResolverCall, TextPart, parse,
};
use crate::suggest::nearest;
use crate::value::{Key, Map, Node, Value, python_str};

impl Evaluator<'_> {
    /// What a text with interpolations in it comes to.
    pub(super) fn text(
        &self,
        text: &str,
        asking: &Asking<'_>,
        trail: &mut Trail,
    ) -> Result<Found, ResolveFault> {
        let _level = self.budget.enter()?;
        let parts = parse(text)?;
        match parts.as_slice() {
            [TextPart::Interpolation(only)] => self.interpolation(only, asking, trail),
            parts => Ok(Found::Raw(Value::Str(self.joined(parts, asking, trail)?))),
        }
    }

    fn joined(
        &self,
        parts: &[TextPart],
        asking: &Asking<'_>,
        trail: &mut Trail,
    ) -> Result<String, ResolveFault> {
        let mut whole = String::new();
        for part in parts {
            match part {
                TextPart::Text(text) => whole.push_str(text),
                TextPart::Interpolation(inner) => {
                    let found = self.interpolation(inner, asking, trail)?;
                    whole.push_str(&python_str(&self.value_of(&found)));
                }
            }
        }
        self.budget.text(whole.len())?;
        Ok(whole)
    }

    fn interpolation(
        &self,
        interpolation: &Interpolation,
        asking: &Asking<'_>,
        trail: &mut Trail,
    ) -> Result<Found, ResolveFault> {
        match interpolation {
            Interpolation::Node(reference) => self.reference(reference, asking, trail),
            Interpolation::Resolver(call) => self.call(call, asking, trail),
        }
    }

    /// The text a nested interpolation gives for a key or a name.
    fn name(
        &self,
        inner: &Interpolation,
        asking: &Asking<'_>,
        trail: &mut Trail,
    ) -> Result<String, ResolveFault> {
        let _level = self.budget.enter()?;
        let found = self.interpolation(inner, asking, trail)?;
        match self.value_of(&found) {
            Value::Str(text) => Ok(text),
            other => Err(ResolveFault::NameKind { found: other.kind() }),
        }
    }

    fn reference(
        &self,
        reference: &NodeReference,
        asking: &Asking<'_>,
        trail: &mut Trail,
    ) -> Result<Found, ResolveFault> {
        let path = reference.path(|inner| self.name(inner, asking, trail))?;
        let (from, key) = Self::start(asking.parent, &path)?;
        let Some(found) = self.select(&from, key, true, Some(trail))? else {
            return Err(self.no_target(&from, key, path.clone()));
        };
        if let Found::At(target) = &found
            && target.contains(asking.parent)
        {
            return Err(ResolveFault::Ancestor { target: target.text() });
        }
        Ok(found)
    }

    fn no_target(&self, from: &Address, key: &str, target: String) -> ResolveFault {
        let first = key.split(['.', '[']).next().unwrap_or(key);
        let near = |node: Option<&Node>| {
            let names = node.and_then(Node::as_map)?.keys().filter_map(|key| match key {
                Key::Str(key) => Some(key.as_str()),
                _ => None,
            });
            nearest(first, names).filter(|name| *name != first).map(str::to_owned)
        };
        ResolveFault::NoTarget { target, suggestion: self.with(from, near) }
    }

    fn call(
        &self,
        call: &ResolverCall,
        asking: &Asking<'_>,
        trail: &mut Trail,
    ) -> Result<Found, ResolveFault> {
        let _level = self.budget.enter()?;
        let name = call.full_name(|inner| self.name(inner, asking, trail))?;
        let mut arguments = Vec::with_capacity(call.arguments.len());
        for argument in &call.arguments {
            arguments.push(self.element(argument, asking, trail)?);
        }
        let custom = self.settings.resolvers.custom(&name);
        let wrong = |message: String| ResolveFault::Resolver { name: name.clone(), message };
        if let Some(resolver) = custom {
            let values: Vec<Value> = arguments.iter().map(|found| self.value_of(found)).collect();
            let value = resolver(&values).map_err(wrong)?;
            return Ok(match value {
                Value::List(_) | Value::Map(_) => Found::At(self.make(asking.parent, Node::new(value))),
                value => Found::Raw(value),
            });
        }
        let Some((_, resolver)) = resolvers::ALL.iter().find(|(known, _)| *known == name) else {
            let known = self.settings.resolvers.names();
            let suggestion = nearest(&name, known).map(str::to_owned);
            return Err(ResolveFault::NoResolver { name, suggestion });
        };
        resolver(&Call { evaluator: self, name: &name, arguments, asking })
    }

    /// What an argument comes to. A list or mapping of arguments is a plain value.
    pub(super) fn element(
        &self,
        element: &InterpolationElement,
        asking: &Asking<'_>,
        trail: &mut Trail,
    ) -> Result<Found, ResolveFault> {
        let value = match element {
            InterpolationElement::Null => Value::Null,
            InterpolationElement::Bool(flag) => Value::Bool(*flag),
            InterpolationElement::Int(int) => Value::Int(int.clone()),
            InterpolationElement::Float(float) => Value::Float(*float),
            InterpolationElement::Text(text) => Value::Str(text.clone()),
            InterpolationElement::Quoted(parts) | InterpolationElement::Joined(parts) => {
                Value::Str(self.joined(parts, asking, trail)?)
            }
            InterpolationElement::Interpolation(inner) => {
                return self.interpolation(inner, asking, trail);
            }
            InterpolationElement::List(items) => {
                let mut list = Vec::with_capacity(items.len());
                for item in items {
                    let found = self.element(item, asking, trail)?;
                    self.budget.values(1)?;
                    list.push(Node::new(self.value_of(&found)));
                }
                Value::List(list)
            }
            InterpolationElement::Map(pairs) => {
                let mut map = Map::new();
                for (key, value) in pairs {
                    let key = self.element(key, asking, trail)?;
                    let key = as_key(self.value_of(&key))?;
                    let value = self.element(value, asking, trail)?;
                    self.budget.values(1)?;
                    map.insert(key, Node::new(self.value_of(&value)));
                }
                Value::Map(map)
            }
        };
        Ok(Found::Raw(value))
    }
}

fn as_key(value: Value) -> Result<Key, ResolveFault> {
    Ok(match value {
        Value::Str(text) => Key::Str(text),
        Value::Int(int) => Key::Int(int),
        Value::Float(float) => Key::Float(float.to_bits()),
        Value::Bool(flag) => Key::Bool(flag),
        other => return Err(ResolveFault::NameKind { found: other.kind() }),
    })
}
