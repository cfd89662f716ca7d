//! Prints a named query in the SQL of an engine: `render_query NAME DIALECT key=value…`.
#![expect(clippy::print_stdout, reason = "an example prints what it shows")]

use std::collections::BTreeMap;
use std::error::Error;

use rooflens_queries::{Dialect, find};

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let query = find(&arguments.next().ok_or("the name of a query is missing")?)?;
    let dialect =
        arguments.next().and_then(|name| Dialect::from_name(&name)).ok_or("a dialect is missing")?;
    let mut values = BTreeMap::new();
    for argument in arguments {
        let (name, value) = argument.split_once('=').ok_or("a parameter is key=value")?;
        values.insert(name.to_owned(), value.to_owned());
    }
    print!("{}", query.render(dialect, &values)?);
    Ok(())
}
