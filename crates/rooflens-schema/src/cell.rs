//! What a column can hold, and how it becomes an Arrow array.

use std::collections::HashMap;
use std::sync::Arc;

use arrow_array::types::Int8Type;
use arrow_array::{
    Array, ArrayRef, BooleanArray, DictionaryArray, Float64Array, Int8Array, Int32Array, Int64Array,
    StringArray,
};
use arrow_schema::DataType;

use crate::names::{NameId, Names, stable_id};

/// A value that may be absent, in the space of the value: the type's minimum stands for "none".
///
/// A column of `Option<i64>` takes 16 bytes a row; this takes 8, and the minimum never occurs as a
/// time, a size or an id.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Opt<T>(T);

/// Types that can stand in an [`Opt`].
pub trait Sentinel: Copy + PartialEq {
    /// The value that means "none".
    const NONE: Self;
}
impl Sentinel for i64 {
    const NONE: i64 = i64::MIN;
}
impl Sentinel for i32 {
    const NONE: i32 = i32::MIN;
}
impl Sentinel for NameId {
    const NONE: NameId = NameId(u32::MAX);
}

impl<T: Sentinel> Opt<T> {
    /// Absent.
    pub const NONE: Opt<T> = Opt(T::NONE);
    /// Present.
    pub fn some(value: T) -> Self {
        Opt(value)
    }
    /// The value, if there is one.
    pub fn get(self) -> Option<T> {
        (self.0 != T::NONE).then_some(self.0)
    }
    /// Whether a value is there.
    pub fn is_some(self) -> bool {
        self.0 != T::NONE
    }
}
impl<T: Sentinel> Default for Opt<T> {
    fn default() -> Self {
        Self::NONE
    }
}
impl<T: Sentinel> From<Option<T>> for Opt<T> {
    fn from(value: Option<T>) -> Self {
        value.map_or(Self::NONE, Opt)
    }
}

/// The names of a run by the ids that they have on disk.
pub type StoredNames = HashMap<i64, Arc<str>, foldhash::fast::RandomState>;

/// Gives stored names their dense ids, in the order in which a rank's columns first use them: a rank holds the
/// names that it needs, not those of the whole job.
#[derive(Debug, Default)]
pub struct NameLookup {
    stored: Arc<StoredNames>,
    ids: HashMap<i64, NameId, foldhash::fast::RandomState>,
    names: Names,
}

impl NameLookup {
    /// For one rank of a run with these names.
    pub fn new(stored: &Arc<StoredNames>) -> Self {
        NameLookup { stored: Arc::clone(stored), ..NameLookup::default() }
    }

    /// The dense id of a stored name; `None` for one that the run does not hold.
    pub fn dense(&mut self, id: i64) -> Option<NameId> {
        if let Some(&known) = self.ids.get(&id) {
            return Some(known);
        }
        let dense = self.names.add_shared(self.stored.get(&id)?);
        self.ids.insert(id, dense);
        Some(dense)
    }

    /// The stored ids that were asked for, in no order.
    pub fn used(&self) -> impl Iterator<Item = i64> {
        self.ids.keys().copied()
    }

    /// The names that were asked for.
    pub fn into_names(self) -> Names {
        self.names
    }
}

/// A type that can be a column.
pub trait ColumnType: Clone {
    /// Whether the column may hold nulls.
    const NULLABLE: bool;
    /// Every word that the column may hold, and what it means; empty where these are not a closed set.
    fn words() -> Vec<(&'static str, &'static str)> {
        Vec::new()
    }
    /// What stands in for a column that an older file does not have; `None` where it must be there.
    fn missing() -> Option<Self> {
        None
    }
    /// The column's type in Arrow and Parquet.
    fn data_type() -> DataType;
    /// The column as an array.
    fn encode(column: &[Self], names: &Names) -> ArrayRef;
    /// The array as a column; `None` where its type is another.
    fn decode(array: &dyn Array, names: &mut NameLookup) -> Option<Vec<Self>>;
    /// Puts other words in place of those the column holds. Most columns hold none.
    fn reword(_column: &mut [Self], _rewording: &Rewording<'_>) {}
    /// Moves the times that the column holds. Only columns of `i64` can hold any.
    fn shift(_column: &mut [Self], _delta_ns: i64) {}
}

/// Other words for those in tables.
pub struct Rewording<'a> {
    /// For each name, by its index, the one that takes its place; empty where all stay.
    pub names: Vec<NameId>,
    /// What takes a text's place; `None` where it stays.
    pub text: &'a dyn Fn(&str) -> Option<String>,
}

macro_rules! plain_cell {
    ($type:ty, $array:ty, $data_type:expr $(, $shift:item)?) => {
        impl ColumnType for $type {
            const NULLABLE: bool = false;
            $($shift)?
            fn data_type() -> DataType {
                $data_type
            }
            fn encode(column: &[Self], _: &Names) -> ArrayRef {
                Arc::new(<$array>::from(column.to_vec()))
            }
            fn decode(array: &dyn Array, _: &mut NameLookup) -> Option<Vec<Self>> {
                let array = array.as_any().downcast_ref::<$array>()?;
                Some((0..array.len()).map(|i| array.value(i)).collect())
            }
        }
    };
}
plain_cell!(
    i64,
    Int64Array,
    DataType::Int64,
    fn shift(column: &mut [Self], delta_ns: i64) {
        column.iter_mut().for_each(|ts| *ts = ts.saturating_add(delta_ns));
    }
);
plain_cell!(i32, Int32Array, DataType::Int32);
plain_cell!(bool, BooleanArray, DataType::Boolean);

macro_rules! opt_cell {
    ($type:ty, $array:ty, $data_type:expr $(, $shift:item)?) => {
        impl ColumnType for Opt<$type> {
            const NULLABLE: bool = true;
            $($shift)?
            fn missing() -> Option<Self> {
                Some(Opt::NONE)
            }
            fn data_type() -> DataType {
                $data_type
            }
            fn encode(column: &[Self], _: &Names) -> ArrayRef {
                Arc::new(column.iter().map(|cell| cell.get()).collect::<$array>())
            }
            fn decode(array: &dyn Array, _: &mut NameLookup) -> Option<Vec<Self>> {
                let array = array.as_any().downcast_ref::<$array>()?;
                Some(array.iter().map(Opt::from).collect())
            }
        }
    };
}
opt_cell!(
    i64,
    Int64Array,
    DataType::Int64,
    fn shift(column: &mut [Self], delta_ns: i64) {
        for ts in column {
            *ts = ts.get().map(|ts| ts.saturating_add(delta_ns)).into();
        }
    }
);
opt_cell!(i32, Int32Array, DataType::Int32);

impl ColumnType for Option<f64> {
    const NULLABLE: bool = true;
    fn missing() -> Option<Self> {
        Some(None)
    }
    fn data_type() -> DataType {
        DataType::Float64
    }
    fn encode(column: &[Self], _: &Names) -> ArrayRef {
        Arc::new(Float64Array::from(column.to_vec()))
    }
    fn decode(array: &dyn Array, _: &mut NameLookup) -> Option<Vec<Self>> {
        Some(array.as_any().downcast_ref::<Float64Array>()?.iter().collect())
    }
}

impl ColumnType for NameId {
    const NULLABLE: bool = false;
    fn data_type() -> DataType {
        DataType::Int64
    }
    fn encode(column: &[Self], names: &Names) -> ArrayRef {
        let stable = names.stable_ids();
        let id = |cell: &NameId| stable.get(cell.index()).copied().unwrap_or_else(|| stable_id(""));
        Arc::new(Int64Array::from(column.iter().map(id).collect::<Vec<i64>>()))
    }
    fn decode(array: &dyn Array, names: &mut NameLookup) -> Option<Vec<Self>> {
        let array = array.as_any().downcast_ref::<Int64Array>()?;
        Some(array.values().iter().map(|id| names.dense(*id).unwrap_or(NameId::EMPTY)).collect())
    }
    fn reword(column: &mut [Self], rewording: &Rewording<'_>) {
        for cell in column.iter_mut().filter(|_| !rewording.names.is_empty()) {
            *cell = rewording.names.get(cell.index()).copied().unwrap_or(*cell);
        }
    }
}

impl ColumnType for Opt<NameId> {
    const NULLABLE: bool = true;
    fn missing() -> Option<Self> {
        Some(Opt::NONE)
    }
    fn data_type() -> DataType {
        DataType::Int64
    }
    fn encode(column: &[Self], names: &Names) -> ArrayRef {
        let stable = names.stable_ids();
        let id = |cell: &Opt<NameId>| cell.get().and_then(|name| stable.get(name.index()).copied());
        Arc::new(column.iter().map(id).collect::<Int64Array>())
    }
    fn decode(array: &dyn Array, names: &mut NameLookup) -> Option<Vec<Self>> {
        let array = array.as_any().downcast_ref::<Int64Array>()?;
        Some(array.iter().map(|id| id.and_then(|id| names.dense(id)).into()).collect())
    }
    fn reword(column: &mut [Self], rewording: &Rewording<'_>) {
        for cell in column.iter_mut().filter(|_| !rewording.names.is_empty()) {
            *cell = cell.get().map(|id| rewording.names.get(id.index()).copied().unwrap_or(id)).into();
        }
    }
}

impl ColumnType for String {
    const NULLABLE: bool = false;
    fn data_type() -> DataType {
        DataType::Utf8
    }
    fn encode(column: &[Self], _: &Names) -> ArrayRef {
        Arc::new(StringArray::from_iter_values(column))
    }
    fn decode(array: &dyn Array, _: &mut NameLookup) -> Option<Vec<Self>> {
        let array = array.as_any().downcast_ref::<StringArray>()?;
        Some(array.iter().map(|text| text.unwrap_or("").to_owned()).collect())
    }
    fn reword(column: &mut [Self], rewording: &Rewording<'_>) {
        for cell in column {
            if let Some(other) = (rewording.text)(cell) {
                *cell = other;
            }
        }
    }
}

impl ColumnType for Option<String> {
    const NULLABLE: bool = true;
    fn missing() -> Option<Self> {
        Some(None)
    }
    fn data_type() -> DataType {
        DataType::Utf8
    }
    fn encode(column: &[Self], _: &Names) -> ArrayRef {
        Arc::new(column.iter().map(|text| text.as_deref()).collect::<StringArray>())
    }
    fn decode(array: &dyn Array, _: &mut NameLookup) -> Option<Vec<Self>> {
        let array = array.as_any().downcast_ref::<StringArray>()?;
        Some(array.iter().map(|text| text.map(str::to_owned)).collect())
    }
    fn reword(column: &mut [Self], rewording: &Rewording<'_>) {
        for cell in column.iter_mut().flatten() {
            if let Some(other) = (rewording.text)(cell) {
                *cell = other;
            }
        }
    }
}

impl<W: Word + ColumnType> ColumnType for Option<W> {
    const NULLABLE: bool = true;
    fn words() -> Vec<(&'static str, &'static str)> {
        W::words()
    }
    fn missing() -> Option<Self> {
        Some(None)
    }
    fn data_type() -> DataType {
        W::data_type()
    }
    fn encode(column: &[Self], _: &Names) -> ArrayRef {
        encode_optional_words(column)
    }
    fn decode(array: &dyn Array, _: &mut NameLookup) -> Option<Vec<Self>> {
        decode_optional_words(array)
    }
}

/// A closed set of words: one byte a row in memory, a dictionary of strings on disk.
pub trait Word: Copy + 'static {
    /// Every word, in declaration order.
    const WORDS: &'static [&'static str];
    /// The position in [`Word::WORDS`].
    fn position(self) -> usize;
    /// The word at a position.
    fn at(position: usize) -> Option<Self>;
}

/// Encodes a column of words; used by `column_enum!`.
pub fn encode_words<W: Word>(column: &[W]) -> ArrayRef {
    encode_optional_words(&column.iter().map(|word| Some(*word)).collect::<Vec<_>>())
}

fn encode_optional_words<W: Word>(column: &[Option<W>]) -> ArrayRef {
    let keys: Int8Array = column.iter().map(|word| word.map(|word| word.position() as i8)).collect();
    let values = Arc::new(StringArray::from_iter_values(W::WORDS));
    match DictionaryArray::<Int8Type>::try_new(keys, values) {
        Ok(array) => Arc::new(array),
        // Positions index WORDS by construction, so this arm is never taken.
        Err(_) => {
            let word = |word: &Option<W>| word.map(|word| W::WORDS[word.position()]);
            Arc::new(column.iter().map(word).collect::<StringArray>())
        }
    }
}

/// Decodes a column of words; `None` where a word is unknown.
pub fn decode_words<W: Word>(array: &dyn Array) -> Option<Vec<W>> {
    decode_optional_words(array)?.into_iter().collect()
}

/// A null is no word; a word that is not known makes the whole column unreadable.
fn decode_optional_words<W: Word>(array: &dyn Array) -> Option<Vec<Option<W>>> {
    let find = |text: &str| W::WORDS.iter().position(|word| *word == text).and_then(W::at);
    if let Some(dictionary) = array.as_any().downcast_ref::<DictionaryArray<Int8Type>>() {
        let values = dictionary.values().as_any().downcast_ref::<StringArray>()?;
        let words: Vec<Option<W>> = values.iter().map(|text| find(text?)).collect();
        let word = |key: i8| *words.get(usize::try_from(key).ok()?)?;
        return dictionary
            .keys()
            .iter()
            .map(|key| key.map_or(Some(None), |key| word(key).map(Some)))
            .collect();
    }
    let texts = array.as_any().downcast_ref::<StringArray>()?;
    texts.iter().map(|text| text.map_or(Some(None), |text| find(text).map(Some))).collect()
}
