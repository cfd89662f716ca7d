//! Prints views or loads for a store: `store_views views|load DIALECT|TARGET < tables`, where standard input has lines
//! `table NAME`, `column NAME TYPE NULLABLE`, `sorted NAME` and `file PATH DAY TENANT` of the table before it.
#![expect(clippy::print_stdout, reason = "an example prints what it shows")]

use std::error::Error;

use rooflens_queries::{ColumnDef, Dialect, FileRef, LoadEngine, SqlType, TableDef, load, views};

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [what, name] = &arguments[..] else { return Err("two arguments, please".into()) };
    let (tables, files) = read(&std::io::read_to_string(std::io::stdin())?)?;
    let script = match what.as_str() {
        "views" => views(Dialect::from_name(name).ok_or("no such dialect")?, &tables, &files)?,
        _ => {
            let target = LoadEngine::ALL.into_iter().find(|target| target.name() == name);
            load(target.ok_or("no such target")?, &tables, &files)?
        }
    };
    print!("{script}");
    Ok(())
}

fn read(text: &str) -> Result<(Vec<TableDef>, Vec<FileRef>), Box<dyn Error>> {
    let (mut tables, mut files) = (Vec::<TableDef>::new(), Vec::new());
    for line in text.lines() {
        let words: Vec<&str> = line.split_whitespace().collect();
        if let ["table", name] = words[..] {
            let (columns, sorted_by) = (Vec::new(), Vec::new());
            let doc = format!("Rows of {name}; made.");
            tables.push(TableDef { name: name.to_owned(), doc, columns, sorted_by });
            continue;
        }
        let table = tables.last_mut().ok_or("a line before the first table")?;
        match words[..] {
            ["column", name, kind, is_nullable] => table.columns.push(ColumnDef {
                name: name.to_owned(),
                kind: match kind {
                    "text" => SqlType::Text,
                    "bigint" => SqlType::BigInt,
                    "int" => SqlType::Int,
                    "double" => SqlType::Double,
                    "boolean" => SqlType::Boolean,
                    _ => return Err(format!("no type {kind}").into()),
                },
                is_nullable: is_nullable == "true",
            }),
            ["sorted", name] => table.sorted_by.push(name.to_owned()),
            ["file", path, day, tenant] => files.push(FileRef {
                table: table.name.clone(),
                path: path.to_owned(),
                day: day.to_owned(),
                tenant: tenant.to_owned(),
            }),
            _ => return Err(format!("not understood: {line}").into()),
        }
    }
    Ok((tables, files))
}
