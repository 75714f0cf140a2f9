//! Captured calls, their values, and the descriptions that they refer to.

use crate::chunks::chunk;

layout! {
    /// A chunk of captured calls, and the records in it.
    calls: "CallLayout" {
        /// u64: the number of the chunk in its tree.
        SEQUENCE_AT: usize = chunk::OWN_AT;
        /// u64: the number of calls that were not recorded.
        LOST_AT: usize = 48;
        /// u64: the writer's own.
        NEWER_AT: usize = 56;
        /// u16 of a record: its size.
        SIZE_AT: usize = 0;
        /// u8 of a record: CallRecordKind.
        KIND_AT: usize = 2;
        /// u8 of a record: CallFlags, and CallEnd.
        FLAGS_AT: usize = 3;
        /// u32 of a record: the number of the method's description.
        SIGNATURE_AT: usize = 4;
        /// u64 of a record: the number of the call in its tree.
        NUMBER_AT: usize = 8;
        /// i64 of a record: the time since the first probe, in ticks.
        CLOCK_AT: usize = 16;
        /// The size of a record in front of its values.
        HEADER: usize = 24;
        /// The largest size of a record.
        MAX_SIZE: usize = 4096;
        /// The size of a description in front of its contents: u8 DescriptionKind, 3 bytes, u32 size, u32 number.
        DESCRIPTION_HEADER: usize = 12;
        /// In place of a count of fields: they are left out.
        NOT_SHOWN: u8 = 0xFF;
    }
}

kinds! {
    /// The event that a record of calls is of.
    CallRecordKind: u8 {
        /// A call begins.
        Enter = 1,
        /// A call ends.
        Leave = 2,
        /// An exception handler of the call catches an exception; the record has the exception.
        Catch = 3,
        /// An exception is thrown and the call has no handler for it. It leaves the call, unless another exception does. The
        /// record has the exception.
        Pass = 4,
    }
}

flags! {
    /// The content of a record of calls. The low four bits of an end are CallEnd.
    CallFlags: u8 {
        /// Of a beginning: the record has `this`.
        THIS = 1,
        /// Of a beginning: the record has the arguments.
        ARGUMENTS = 2,
        /// Of an end: the bits of CallEnd.
        END = 15,
        /// Of an end: the record has the returned value.
        RETURNED = 16,
        /// Of an end: the record has the by-reference arguments.
        BY_REFERENCE = 32,
    }
}

kinds! {
    /// How a call ended.
    CallEnd: u8 {
        /// It returned.
        Returned = 0,
        /// An exception left it.
        Exception = 1,
        /// A tail call replaced it.
        TailCall = 2,
    }
}

kinds! {
    /// How a parameter is passed.
    ParameterMode: u8 {
        /// By value.
        Value = 0,
        /// `ref`
        Ref = 1,
        /// `in`
        In = 2,
        /// `out`
        Out = 3,
    }
}

kinds! {
    /// The subject of a description.
    DescriptionKind: u8 {
        /// A type.
        Type = 1,
        /// A method with its generic arguments.
        Signature = 2,
    }
}

kinds! {
    /// The content of a type's description.
    TypeShape: u8 {
        /// The names of its fields.
        Fields = 0,
        /// The members of an enum.
        Enum = 1,
        /// The members of a flags enum.
        Flags = 2,
    }
}

kinds! {
    /// The first byte of a value: an element type of signatures (II.23.1.16), or a type of this format from 0x80 on. Values of the
    /// element types from Boolean to Double are stored as they are in memory.
    ValueKind: u8 {
        /// A value that was not read: u8 UnreadReason.
        Unread = 0x00,
        /// A null reference, or a nullable without a value.
        Null = 0x01,
        /// 1 byte.
        Boolean = 0x02,
        /// A UTF-16 unit.
        Char = 0x03,
        /// 1 byte.
        SByte = 0x04,
        /// 1 byte.
        Byte = 0x05,
        /// 2 bytes.
        Int16 = 0x06,
        /// 2 bytes.
        UInt16 = 0x07,
        /// 4 bytes.
        Int32 = 0x08,
        /// 4 bytes.
        UInt32 = 0x09,
        /// 8 bytes.
        Int64 = 0x0A,
        /// 8 bytes.
        UInt64 = 0x0B,
        /// 4 bytes.
        Single = 0x0C,
        /// 8 bytes.
        Double = 0x0D,
        /// u32 length, u16 number of UTF-16 units that follow.
        String = 0x0E,
        /// u64.
        Pointer = 0x0F,
        /// u32 type, u8 number of fields that follow, or NOT_SHOWN.
        Struct = 0x11,
        /// u32 type, u64 identity, u8 number of fields that follow, or NOT_SHOWN.
        Object = 0x12,
        /// u32 type, u8 rank, a u32 length for each dimension, u8 number of elements that follow.
        Array = 0x14,
        /// 8 bytes.
        IntPtr = 0x18,
        /// 8 bytes.
        UIntPtr = 0x19,
        /// u32 type, then a value of the underlying type.
        Enum = 0x55,
        /// u64: the kind in the upper two bits, 100 ns since the year 1.
        DateTime = 0x80,
        /// u32 low, middle, high, flags.
        Decimal = 0x81,
        /// 16 bytes.
        Guid = 0x82,
        /// i64: 100 ns.
        TimeSpan = 0x83,
        /// u32 type: a `System.Type`.
        Type = 0x84,
    }
}

kinds! {
    /// The reason why a value was not read.
    UnreadReason: u8 {
        /// Its type is not known.
        UnknownType = 1,
        /// Its layout is not known.
        UnknownLayout = 2,
        /// `System.TypedReference`
        TypedReference = 3,
        /// The record had no room left.
        NoRoom = 4,
        /// An `out` parameter, before the call ends.
        Out = 5,
        /// A collection may have moved its target.
        Moved = 6,
        /// The runtime did not state its location.
        NotFound = 7,
        /// A reference within a value.
        Reference = 8,
        /// Its type is a ref struct or may be one; such values cannot be boxed.
        OnStack = 9,
        /// `this` of a constructor, before the constructor has run.
        UnderConstruction = 10,
        /// The program's ToString threw an exception.
        Thrown = 11,
    }
}
