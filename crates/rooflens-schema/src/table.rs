//! How a table is declared: one macro call gives the columns in memory, a row type to push, the
//! Arrow schema, and the text of the reference documentation.

use arrow_schema::{DataType, Field};

/// How a column lies in Parquet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Encoding {
    /// Differences between neighbours, bit-packed: times, durations, ids that grow.
    Delta,
    /// A dictionary of the values: everything that repeats.
    Dictionary,
}

/// What the numbers of a column are, beyond their unit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ColumnKind {
    /// A time on the run's clock: it moves when a rank is put onto the clock of another.
    Time,
    /// Anything else: durations, counts, ids, times on another clock.
    Value,
}

/// A column: its name, type, unit and meaning.
#[derive(Debug, Clone)]
pub struct ColumnSchema {
    /// Name in Parquet and SQL.
    pub name: &'static str,
    /// Type in Arrow and Parquet.
    pub data_type: DataType,
    /// Whether it may be null.
    pub nullable: bool,
    /// Unit of its values: `ns`, `bytes`, `count`, `id`, `text` …
    pub unit: &'static str,
    /// Whether its values are times on the run's clock.
    pub kind: ColumnKind,
    /// What it means.
    pub doc: &'static str,
    /// How it is encoded.
    pub encoding: Encoding,
    /// Every word that it may hold, and what it means; empty where these are not a closed set.
    pub words: Vec<(&'static str, &'static str)>,
}

impl ColumnSchema {
    /// The Arrow field, with unit and meaning in its metadata.
    pub fn field(&self) -> Field {
        Field::new(self.name, self.data_type.clone(), self.nullable).with_metadata(
            [("unit".to_owned(), self.unit.to_owned()), ("doc".to_owned(), self.doc.to_owned())].into(),
        )
    }
}

/// A table's name, meaning and columns.
#[derive(Debug, Clone)]
pub struct TableSpec {
    /// Name: the Parquet file is `<name>.parquet`.
    pub name: &'static str,
    /// What a row is.
    pub doc: &'static str,
    /// Whether rows belong to a rank: then the file's first column is `rank`.
    pub per_rank: bool,
    /// The columns, in order, without `rank`.
    pub columns: Vec<ColumnSchema>,
}

/// Declares a closed set of words that can be a column. See [`crate::cell::Word`].
macro_rules! column_enum {
    ($(#[doc = $doc:literal])+ $name:ident { $($(#[doc = $word_doc:literal])+ $variant:ident = $word:literal,)+ }) => {
        $(#[doc = $doc])+
        #[derive(
            Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize,
            schemars::JsonSchema,
        )]
        #[repr(u8)]
        pub enum $name {
            $($(#[doc = $word_doc])+ #[serde(rename = $word)] $variant,)+
        }
        impl $name {
            /// Every word, in declaration order.
            pub const ALL: &'static [$name] = &[$($name::$variant,)+];
            /// The word in tables and JSON.
            pub fn as_str(self) -> &'static str {
                match self { $($name::$variant => $word,)+ }
            }
            /// What the word means.
            pub fn doc(self) -> &'static str {
                match self { $($name::$variant => concat!($($word_doc,)+).trim_ascii(),)+ }
            }
        }
        impl Default for $name {
            /// The first word.
            fn default() -> Self {
                Self::ALL[0]
            }
        }
        impl $crate::cell::Word for $name {
            const WORDS: &'static [&'static str] = &[$($word,)+];
            fn position(self) -> usize { self as usize }
            fn at(position: usize) -> Option<Self> { Self::ALL.get(position).copied() }
        }
        impl $crate::cell::ColumnType for $name {
            const NULLABLE: bool = false;
            fn words() -> Vec<(&'static str, &'static str)> {
                $name::ALL.iter().map(|word| (word.as_str(), word.doc())).collect()
            }
            fn data_type() -> arrow_schema::DataType {
                arrow_schema::DataType::Dictionary(
                    Box::new(arrow_schema::DataType::Int8),
                    Box::new(arrow_schema::DataType::Utf8),
                )
            }
            fn encode(column: &[Self], _: &$crate::names::Names) -> arrow_array::ArrayRef {
                $crate::cell::encode_words(column)
            }
            fn decode(array: &dyn arrow_array::Array, _: &mut $crate::cell::NameLookup) -> Option<Vec<Self>> {
                $crate::cell::decode_words(array)
            }
        }
    };
}
pub(crate) use column_enum;

/// Declares a table: `column: Type => "unit" Encoding,` with a doc comment on each. A column of times on the run's
/// clock ends in `Time`: `ts_ns: i64 => "ns" Delta Time,`. A duration does not, though its unit is the same.
macro_rules! table {
    (
        $(#[doc = $doc:literal])+
        $table:ident($row:ident) = $name:literal, per_rank: $per_rank:literal {
            $($(#[doc = $column_doc:literal])+ $column:ident: $type:ty => $unit:literal $encoding:ident $($kind:ident)?,)+
        }
    ) => {
        $(#[doc = $doc])+
        #[derive(Debug, Clone, Default)]
        pub struct $table {
            $($(#[doc = $column_doc])+ pub $column: Vec<$type>,)+
        }

        #[doc = concat!("A row of [`", stringify!($table), "`].")]
        #[derive(Debug, Clone, Default)]
        pub struct $row {
            $($(#[doc = $column_doc])+ pub $column: $type,)+
        }

        impl $table {
            /// Name, meaning and columns.
            pub fn spec() -> $crate::table::TableSpec {
                use $crate::cell::ColumnType;
                $crate::table::TableSpec {
                    name: $name,
                    doc: concat!($($doc,)+).trim_ascii(),
                    per_rank: $per_rank,
                    columns: vec![$($crate::table::ColumnSchema {
                        name: stringify!($column),
                        data_type: <$type as ColumnType>::data_type(),
                        nullable: <$type as ColumnType>::NULLABLE,
                        unit: $unit,
                        kind: [$($crate::table::ColumnKind::$kind,)? $crate::table::ColumnKind::Value][0],
                        doc: concat!($($column_doc,)+).trim_ascii(),
                        encoding: $crate::table::Encoding::$encoding,
                        words: <$type as ColumnType>::words(),
                    },)+],
                }
            }

            /// Makes room for so many further rows, so that pushing them allocates nothing.
            pub fn reserve(&mut self, rows: usize) {
                $(self.$column.reserve(rows);)+
            }

            /// Removes every row and keeps the room they had.
            pub fn clear(&mut self) {
                $(self.$column.clear();)+
            }

            /// Adds a row.
            pub fn push(&mut self, row: $row) {
                $(self.$column.push(row.$column);)+
            }

            /// A copy of row `i`; `None` past the end.
            pub fn row(&self, i: usize) -> Option<$row> {
                Some($row { $($column: self.$column.get(i)?.clone(),)+ })
            }

            /// How many rows there are.
            pub fn len(&self) -> usize {
                let lengths = [$(self.$column.len(),)+];
                lengths[0]
            }

            /// Whether there is no row.
            pub fn is_empty(&self) -> bool {
                self.len() == 0
            }

            /// Moves the rows of `other` behind these.
            pub fn append(&mut self, other: &mut Self) {
                $(self.$column.append(&mut other.$column);)+
            }

            /// The rows re-ordered: row `i` becomes what row `order[i]` was.
            pub fn reorder(&mut self, order: &[u32]) {
                $(self.$column = order.iter().map(|&i| self.$column[i as usize].clone()).collect();)+
            }
        }

        impl $crate::parquet_io::Columnar for $table {
            const NAME: &'static str = $name;
            fn spec() -> $crate::table::TableSpec {
                $table::spec()
            }
            fn rows(&self) -> usize {
                self.len()
            }
            fn reword(&mut self, rewording: &$crate::cell::Rewording<'_>) {
                $(<$type as $crate::cell::ColumnType>::reword(&mut self.$column, rewording);)+
            }
            fn shift(&mut self, delta_ns: i64) {
                // Only columns with a kind are named here, and `Time` is the only kind they can have.
                let _ = delta_ns;
                $($(
                    const { assert!(matches!($crate::table::ColumnKind::$kind, $crate::table::ColumnKind::Time)) };
                    <$type as $crate::cell::ColumnType>::shift(&mut self.$column, delta_ns);
                )?)+
            }
            fn encode(
                &self,
                range: std::ops::Range<usize>,
                names: &$crate::names::Names,
            ) -> Vec<arrow_array::ArrayRef> {
                vec![$($crate::cell::ColumnType::encode(&self.$column[range.clone()], names),)+]
            }
            fn decode(
                &mut self,
                rows: usize,
                column: &mut dyn FnMut(&'static str) -> Option<arrow_array::ArrayRef>,
                names: &mut $crate::cell::NameLookup,
            ) -> Result<(), $crate::SchemaError> {
                use $crate::cell::ColumnType;
                $(
                    let mut cells = match column(stringify!($column)) {
                        Some(array) => <$type as ColumnType>::decode(&*array, names),
                        None => <$type as ColumnType>::missing().map(|cell| vec![cell; rows]),
                    }
                    .ok_or_else(|| $crate::SchemaError::Column {
                        table: $name,
                        column: stringify!($column),
                        expected: <$type as ColumnType>::data_type().to_string(),
                    })?;
                    self.$column.append(&mut cells);
                )+
                Ok(())
            }
        }
    };
}
pub(crate) use table;
