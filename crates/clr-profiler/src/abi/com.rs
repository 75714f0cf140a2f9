//! The part of COM that the profiling API needs: interfaces are pointers to function tables, identified by ids.

use std::ffi::c_void;

/// The id of an interface or a class.
#[repr(C)]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Guid {
    first: u32,
    second: u16,
    third: u16,
    rest: [u8; 8],
}

impl Guid {
    /// Converts the number as documents write it: `Guid::new(0x176FBED1_A55C_4796_98CA_A9DA0EF883E7)`.
    pub const fn new(number: u128) -> Self {
        Self {
            first: (number >> 96) as u32,
            second: (number >> 80) as u16,
            third: (number >> 64) as u16,
            rest: (number as u64).to_be_bytes(),
        }
    }
}

/// A result code; negative values are failures.
pub type HResult = i32;
/// Success.
pub const S_OK: HResult = 0;
/// An unspecified failure.
pub const E_FAIL: HResult = 0x8000_4005_u32 as i32;
/// The object does not implement the interface.
pub const E_NOINTERFACE: HResult = 0x8000_4002_u32 as i32;
/// The library does not implement the class.
pub const CLASS_E_CLASSNOTAVAILABLE: HResult = 0x8004_0111_u32 as i32;

/// `IID_IUnknown`
pub const IUNKNOWN: Guid = Guid::new(0x00000000_0000_0000_C000_000000000046);
/// `IID_IClassFactory`
pub const ICLASS_FACTORY: Guid = Guid::new(0x00000001_0000_0000_C000_000000000046);

/// A function table, which never changes.
#[repr(transparent)]
pub struct VTable<const SLOTS: usize>(pub [*const (); SLOTS]);

// SAFETY: the table is in static memory and holds function pointers only.
unsafe impl<const SLOTS: usize> Sync for VTable<SLOTS> {}

/// An object without state. It lives as long as the process, so references are not counted.
#[repr(C)]
pub struct Object<const SLOTS: usize>(pub &'static VTable<SLOTS>);

/// `IUnknown::AddRef` and `Release` of such objects.
pub extern "system" fn count_references(_this: *mut c_void) -> u32 {
    1
}

/// A function that the profiler does not use. The caller removes the arguments on all 64-bit platforms.
pub extern "system" fn ignore() -> HResult {
    S_OK
}

/// A pointer to another component's interface.
#[repr(transparent)]
#[derive(Clone, Copy, Debug)]
pub struct Interface(*mut c_void);

// SAFETY: any thread may call the interfaces of the profiling API.
unsafe impl Send for Interface {}
// SAFETY: as above.
unsafe impl Sync for Interface {}

impl Interface {
    /// Wraps a pointer from another component.
    ///
    /// # Safety
    /// `object` must be an interface that lives as long as it is called.
    pub unsafe fn new(object: *mut c_void) -> Self {
        Self(object)
    }

    /// The raw pointer, for calls.
    pub fn pointer(self) -> *mut c_void {
        self.0
    }

    /// The function in a slot.
    ///
    /// # Safety
    /// The interface must be alive and have that slot. `F` must be the type of the slot's function.
    pub unsafe fn method<F: Copy>(self, slot: usize) -> F {
        const { assert!(size_of::<F>() == size_of::<*const ()>()) };
        // SAFETY: an interface begins with a pointer to its table, which has the slot. The caller guarantees the
        // function's type.
        unsafe {
            let table = *self.0.cast::<*const *const ()>();
            std::mem::transmute_copy(&*table.add(slot))
        }
    }

    /// Another interface of the same object. It adds a reference that is never released.
    ///
    /// # Safety
    /// `object` must be an interface.
    pub unsafe fn query(object: *mut c_void, id: &Guid) -> Option<Self> {
        type QueryInterface = unsafe extern "system" fn(*mut c_void, *const Guid, *mut *mut c_void) -> HResult;
        if object.is_null() {
            return None;
        }
        let mut found = std::ptr::null_mut();
        // SAFETY: slot 0 of each interface is QueryInterface.
        let result = unsafe { Self(object).method::<QueryInterface>(0)(object, id, &mut found) };
        (result >= 0 && !found.is_null()).then_some(Self(found))
    }
}

/// A counted reference to an interface, released on drop.
#[derive(Debug)]
pub struct Owned(Interface);

impl Owned {
    /// Takes over a counted reference; `None` for a null pointer.
    ///
    /// # Safety
    /// `object` must be an interface or null.
    pub unsafe fn new(object: *mut c_void) -> Option<Self> {
        (!object.is_null()).then_some(Self(Interface(object)))
    }

    /// The interface, valid as long as `self` lives.
    pub fn interface(&self) -> Interface {
        self.0
    }
}

impl Drop for Owned {
    fn drop(&mut self) {
        type Release = unsafe extern "system" fn(*mut c_void) -> u32;
        // SAFETY: slot 2 of each interface is Release, and this reference is counted.
        unsafe { self.0.method::<Release>(2)(self.0.pointer()) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_guid_lies_in_memory_as_com_has_it() {
        let id = Guid::new(0x176FBED1_A55C_4796_98CA_A9DA0EF883E7);
        assert_eq!((id.first, id.second, id.third), (0x176F_BED1, 0xA55C, 0x4796));
        assert_eq!(id.rest, [0x98, 0xCA, 0xA9, 0xDA, 0x0E, 0xF8, 0x83, 0xE7]);
    }
}
