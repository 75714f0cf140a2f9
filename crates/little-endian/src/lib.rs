//! Little-endian numbers in bytes, by `byteorder`: appended to a buffer, and read where the bytes may end too early.

pub use byteorder::{BE, ByteOrder, LE, ReadBytesExt};

use byteorder::WriteBytesExt;

macro_rules! numbers {
    ($($ty:ident $put:ident $at:ident $read:ident $write:ident)*) => {
        /// Appends numbers to a buffer.
        pub trait PutNumbers {
            $(
                #[doc = concat!("Appends a `", stringify!($ty), "`.")]
                fn $put(&mut self, number: $ty);
            )*
        }

        impl PutNumbers for Vec<u8> {
            $(
                #[inline]
                fn $put(&mut self, number: $ty) {
                    // A `Vec` takes all bytes, so the result is always `Ok`.
                    let _ = self.$write::<LE>(number);
                }
            )*
        }

        /// Reads numbers at an offset. None if the bytes end before or within the number.
        pub trait NumbersAt {
            $(
                #[doc = concat!("The `", stringify!($ty), "` at an offset.")]
                fn $at(&self, at: usize) -> Option<$ty>;
            )*
        }

        impl NumbersAt for [u8] {
            $(
                #[inline]
                fn $at(&self, at: usize) -> Option<$ty> {
                    self.get(at..)?.get(..size_of::<$ty>()).map(LE::$read)
                }
            )*
        }
    };
}

numbers! {
    u16 put_u16 u16_at read_u16 write_u16
    u32 put_u32 u32_at read_u32 write_u32
    u64 put_u64 u64_at read_u64 write_u64
    i16 put_i16 i16_at read_i16 write_i16
    i32 put_i32 i32_at read_i32 write_i32
    i64 put_i64 i64_at read_i64 write_i64
    f32 put_f32 f32_at read_f32 write_f32
    f64 put_f64 f64_at read_f64 write_f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_come_back_and_end_with_the_bytes() {
        let mut bytes = Vec::new();
        bytes.put_u16(0x1234);
        bytes.put_u32(0x89AB_CDEF);
        bytes.put_i64(-2);
        assert_eq!(bytes[..6], [0x34, 0x12, 0xEF, 0xCD, 0xAB, 0x89]);
        assert_eq!((bytes.u16_at(0), bytes.u32_at(2), bytes.i64_at(6)), (Some(0x1234), Some(0x89AB_CDEF), Some(-2)));
        assert_eq!((bytes.u16_at(13), bytes.u16_at(14), bytes.u64_at(usize::MAX)), (None, None, None));
    }
}
