//! Evaluates the parts of an interpolation.

use super::evaluator::{Evaluator, Trail};
use super::resolvers::{self, Call};
use super::{Address, Found, ResolveFault, meant, name_kind};
use crate::interpolation::{
    Interpolation, InterpolationElement, NodeReference, ResolverCall, TextPart, parse,
};
use crate::suggest::nearest;
use crate::value::{Key, Map, Node, Value, python_str};

impl Evaluator<'_> {
    pub(super) fn text(
        &self,
        text: &str,
        parent: &Address,
        trail: &mut Trail,
    ) -> Result<Found, ResolveFault> {
        let _level = self.budget.enter()?;
        let parts = parse(text)?;
        match parts.as_slice() {
            [TextPart::Interpolation(only)] => self.interpolation(only, parent, trail),
            parts => Ok(Found::Raw(Value::Str(self.joined(parts, parent, trail)?))),
        }
    }

    fn joined(
        &self,
        parts: &[TextPart],
        parent: &Address,
        trail: &mut Trail,
    ) -> Result<String, ResolveFault> {
        let mut whole = String::new();
        for part in parts {
            match part {
                TextPart::Text(text) => whole.push_str(text),
                TextPart::Interpolation(inner) => {
                    let found = self.interpolation(inner, parent, trail)?;
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
        parent: &Address,
        trail: &mut Trail,
    ) -> Result<Found, ResolveFault> {
        match interpolation {
            Interpolation::Node(reference) => self.reference(reference, parent, trail),
            Interpolation::Resolver(call) => self.call(call, parent, trail),
        }
    }

    fn name(
        &self,
        inner: &Interpolation,
        parent: &Address,
        trail: &mut Trail,
    ) -> Result<String, ResolveFault> {
        let _level = self.budget.enter()?;
        let found = self.interpolation(inner, parent, trail)?;
        match self.value_of(&found) {
            Value::Str(text) => Ok(text),
            other => Err(name_kind(&other)),
        }
    }

    fn reference(
        &self,
        reference: &NodeReference,
        parent: &Address,
        trail: &mut Trail,
    ) -> Result<Found, ResolveFault> {
        let path = reference.path(|inner| self.name(inner, parent, trail))?;
        let (from, key) = Self::start(parent, &path)?;
        let Some(found) = self.select(&from, key, true, Some(trail))? else {
            return Err(self.no_target(&from, key, path.clone()));
        };
        if let Found::At(target) = &found
            && target.contains(parent)
        {
            let target = target.text();
            return Err(ResolveFault::Other(format!(
                "the interpolation refers to '{target}', which contains it"
            )));
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
        let meant = meant(self.with(from, near));
        ResolveFault::Other(format!("the interpolation refers to '{target}', which does not exist{meant}"))
    }

    fn call(&self, call: &ResolverCall, parent: &Address, trail: &mut Trail) -> Result<Found, ResolveFault> {
        let _level = self.budget.enter()?;
        let name = call.full_name(|inner| self.name(inner, parent, trail))?;
        let mut arguments = Vec::with_capacity(call.arguments.len());
        for argument in &call.arguments {
            arguments.push(self.element(argument, parent, trail)?);
        }
        let custom = self.settings.resolvers.get(&name);
        let wrong = |message: String| ResolveFault::Other(format!("{name}: {message}"));
        if let Some(resolver) = custom {
            let values: Vec<Value> = arguments.iter().map(|found| self.value_of(found)).collect();
            let value = resolver(&values).map_err(wrong)?;
            return Ok(match value {
                Value::List(_) | Value::Map(_) => Found::At(self.make(parent, Node::new(value))),
                value => Found::Raw(value),
            });
        }
        let Some((_, resolver)) = resolvers::ALL.iter().find(|(known, _)| *known == name) else {
            let built_in = resolvers::ALL.iter().map(|(name, _)| *name);
            let known = built_in.chain(self.settings.resolvers.keys().map(String::as_str));
            let suggestion = nearest(&name, known).map(str::to_owned);
            let meant = meant(suggestion);
            return Err(ResolveFault::Other(format!("there is no resolver '{name}'{meant}")));
        };
        resolver(&Call { evaluator: self, name: &name, arguments, parent })
    }

    pub(super) fn element(
        &self,
        element: &InterpolationElement,
        parent: &Address,
        trail: &mut Trail,
    ) -> Result<Found, ResolveFault> {
        let value = match element {
            InterpolationElement::Null => Value::Null,
            InterpolationElement::Bool(flag) => Value::Bool(*flag),
            InterpolationElement::Int(int) => Value::Int(int.clone()),
            InterpolationElement::Float(float) => Value::Float(*float),
            InterpolationElement::Text(text) => Value::Str(text.clone()),
            InterpolationElement::Quoted(parts) | InterpolationElement::Joined(parts) => {
                Value::Str(self.joined(parts, parent, trail)?)
            }
            InterpolationElement::Interpolation(inner) => {
                return self.interpolation(inner, parent, trail);
            }
            InterpolationElement::List(items) => {
                let mut list = Vec::with_capacity(items.len());
                for item in items {
                    let found = self.element(item, parent, trail)?;
                    self.budget.values(1)?;
                    list.push(Node::new(self.value_of(&found)));
                }
                Value::List(list)
            }
            InterpolationElement::Map(pairs) => {
                let mut map = Map::new();
                for (key, value) in pairs {
                    let key = self.element(key, parent, trail)?;
                    let key = as_key(self.value_of(&key))?;
                    let value = self.element(value, parent, trail)?;
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
        other => return Err(name_kind(&other)),
    })
}
