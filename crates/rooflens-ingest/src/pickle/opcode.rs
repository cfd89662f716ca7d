//! The instructions by their byte, as Python's `pickletools` lists them.

pub const PROTO: u8 = 0x80;
pub const FRAME: u8 = 0x95;
pub const STOP: u8 = b'.';
pub const MARK: u8 = b'(';
pub const MEMOIZE: u8 = 0x94;
pub const BINPUT: u8 = b'q';
pub const LONG_BINPUT: u8 = b'r';
pub const BINGET: u8 = b'h';
pub const LONG_BINGET: u8 = b'j';
pub const NONE: u8 = b'N';
pub const NEWTRUE: u8 = 0x88;
pub const NEWFALSE: u8 = 0x89;
pub const BININT: u8 = b'J';
pub const BININT1: u8 = b'K';
pub const BININT2: u8 = b'M';
pub const LONG1: u8 = 0x8a;
pub const LONG4: u8 = 0x8b;
pub const BINFLOAT: u8 = b'G';
pub const SHORT_BINUNICODE: u8 = 0x8c;
pub const BINUNICODE: u8 = b'X';
pub const BINUNICODE8: u8 = 0x8d;
pub const SHORT_BINBYTES: u8 = b'C';
pub const BINBYTES: u8 = b'B';
pub const BINBYTES8: u8 = 0x8e;
pub const EMPTY_LIST: u8 = b']';
pub const APPEND: u8 = b'a';
pub const APPENDS: u8 = b'e';
pub const EMPTY_TUPLE: u8 = b')';
pub const TUPLE: u8 = b't';
pub const TUPLE1: u8 = 0x85;
pub const TUPLE2: u8 = 0x86;
pub const TUPLE3: u8 = 0x87;
pub const EMPTY_DICT: u8 = b'}';
pub const SETITEM: u8 = b's';
pub const SETITEMS: u8 = b'u';

/// The others: what makes objects, what only the text protocol 0 uses, and what no snapshot needs.
pub const REFUSED: &[(u8, &str)] = &[
    (b'c', "GLOBAL"),
    (0x93, "STACK_GLOBAL"),
    (b'R', "REDUCE"),
    (b'b', "BUILD"),
    (b'i', "INST"),
    (b'o', "OBJ"),
    (0x81, "NEWOBJ"),
    (0x92, "NEWOBJ_EX"),
    (0x82, "EXT1"),
    (0x83, "EXT2"),
    (0x84, "EXT4"),
    (b'P', "PERSID"),
    (b'Q', "BINPERSID"),
    (0x97, "NEXT_BUFFER"),
    (0x98, "READONLY_BUFFER"),
    (0x96, "BYTEARRAY8"),
    (0x8f, "EMPTY_SET"),
    (0x90, "ADDITEMS"),
    (0x91, "FROZENSET"),
    (b'0', "POP"),
    (b'1', "POP_MARK"),
    (b'2', "DUP"),
    (b'I', "INT"),
    (b'L', "LONG"),
    (b'F', "FLOAT"),
    (b'S', "STRING"),
    (b'T', "BINSTRING"),
    (b'U', "SHORT_BINSTRING"),
    (b'V', "UNICODE"),
    (b'l', "LIST"),
    (b'd', "DICT"),
    (b'p', "PUT"),
    (b'g', "GET"),
];
