//! The arguments of an event that tables have columns for.

use super::scan::{Cursor, Raw, ScanStop};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Wanted {
    Nothing,
    /// Correlation and external id, and the kernel that is launched.
    Ids,
    Op,
    Activity,
    Memory,
}

#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct EventArgs<'a> {
    pub(crate) external: Option<i64>,
    pub(crate) correlation: Option<i64>,
    /// Kernel that a call launches; written on ROCm.
    pub(crate) kernel: Option<Raw<'a>>,
    pub(crate) device: Option<i64>,
    pub(crate) stream: Option<i64>,
    pub(crate) bytes: Option<i64>,
    pub(crate) graph: Option<i64>,
    pub(crate) graph_node: Option<i64>,
    pub(crate) grid: Option<[i64; 3]>,
    pub(crate) block: Option<[i64; 3]>,
    pub(crate) registers: Option<i64>,
    pub(crate) shared_memory: Option<i64>,
    pub(crate) shapes: Option<&'a [u8]>,
    pub(crate) dtypes: Option<&'a [u8]>,
    pub(crate) device_type: Option<i64>,
    pub(crate) allocated: Option<i64>,
    pub(crate) reserved: Option<i64>,
    pub(crate) collective: Option<Raw<'a>>,
    pub(crate) dtype: Option<Raw<'a>>,
    pub(crate) in_elements: Option<i64>,
    pub(crate) out_elements: Option<i64>,
    pub(crate) group_size: Option<i64>,
    pub(crate) group: Option<Raw<'a>>,
}

impl<'a> EventArgs<'a> {
    /// Reads the arguments at the cursor into `args`, which stays as it is where nothing in them is wanted.
    pub fn read(cursor: &mut Cursor<'a>, wanted: Wanted, args: &mut Option<Self>) -> Result<(), ScanStop> {
        if wanted == Wanted::Nothing || cursor.peek()? != b'{' {
            return cursor.skip();
        }
        cursor.expect(b'{')?;
        let args = args.insert(EventArgs::default());
        let mut more = !cursor.take(b'}')?;
        while more {
            let key = cursor.key()?;
            match wanted {
                Wanted::Nothing => cursor.skip()?,
                Wanted::Ids => args.id(key, cursor)?,
                Wanted::Op => args.op(key, cursor)?,
                Wanted::Activity => args.activity(key, cursor)?,
                Wanted::Memory => args.memory(key, cursor)?,
            }
            more = cursor.another_key()?;
        }
        Ok(())
    }

    fn id(&mut self, key: &[u8], cursor: &mut Cursor<'a>) -> Result<(), ScanStop> {
        match key {
            b"correlation" => self.correlation = cursor.integer()?,
            // Lower case before torch 1.12.
            b"External id" | b"external id" => self.external = cursor.integer()?,
            b"kernel" => self.kernel = text(cursor)?,
            _ => cursor.skip()?,
        }
        Ok(())
    }

    fn op(&mut self, key: &[u8], cursor: &mut Cursor<'a>) -> Result<(), ScanStop> {
        match key {
            b"External id" | b"external id" => self.external = cursor.integer()?,
            b"Input Dims" | b"Input dims" => self.shapes = json(cursor)?,
            b"Input type" => self.dtypes = json(cursor)?,
            _ => cursor.skip()?,
        }
        Ok(())
    }

    fn activity(&mut self, key: &[u8], cursor: &mut Cursor<'a>) -> Result<(), ScanStop> {
        match key {
            b"device" => self.device = cursor.integer()?,
            b"stream" => self.stream = cursor.integer()?,
            b"bytes" => self.bytes = cursor.integer()?,
            b"graph id" => self.graph = cursor.integer()?,
            b"graph node id" => self.graph_node = cursor.integer()?,
            b"grid" => self.grid = cursor.triple()?,
            b"block" => self.block = cursor.triple()?,
            b"registers per thread" => self.registers = cursor.integer()?,
            b"shared memory" => self.shared_memory = cursor.integer()?,
            b"Collective name" => self.collective = text(cursor)?,
            b"dtype" => self.dtype = text(cursor)?,
            b"In msg nelems" => self.in_elements = cursor.integer()?,
            b"Out msg nelems" => self.out_elements = cursor.integer()?,
            b"Group size" => self.group_size = cursor.integer()?,
            b"Process Group Name" => self.group = text(cursor)?,
            _ => self.id(key, cursor)?,
        }
        Ok(())
    }

    fn memory(&mut self, key: &[u8], cursor: &mut Cursor<'a>) -> Result<(), ScanStop> {
        match key {
            b"Bytes" => self.bytes = cursor.integer()?,
            b"Device Id" => self.device = cursor.integer()?,
            b"Device Type" => self.device_type = cursor.integer()?,
            b"Total Allocated" => self.allocated = cursor.integer()?,
            b"Total Reserved" => self.reserved = cursor.integer()?,
            _ => cursor.skip()?,
        }
        Ok(())
    }
}

fn json<'a>(cursor: &mut Cursor<'a>) -> Result<Option<&'a [u8]>, ScanStop> {
    cursor.peek()?;
    let start = cursor.at();
    cursor.skip()?;
    Ok(Some(cursor.since(start)))
}

fn text<'a>(cursor: &mut Cursor<'a>) -> Result<Option<Raw<'a>>, ScanStop> {
    match cursor.peek()? {
        b'"' => cursor.string().map(Some),
        _ => cursor.skip().map(|()| None),
    }
}
