//! Every flags column of II.23.1, with those of the CLI header, of vtable fixups and of portable PDBs. Constants,
//! predicates of rows and ilasm's words expand this list.

use crate::{
    image::CliHeader,
    schema::{
        Assembly, AssemblyRef, Event, ExportedType, Field, File, GenericParam, ImplMap, LocalVariable, ManifestResource,
        MethodDef, MethodSemantics, Param, Property, TypeDef,
    },
};

/// The columns: module, type, paragraph, `[rows that have it]`, `{ bits of one field }`, and the flags in the order
/// of ilasm's sources. A flag has mask, value, constant, predicate and ilasm's word. The word is "" if ilasm has
/// none, and in a comment if only later versions have it. `clr` marks flags of the runtimes that the standard does
/// not define.
macro_rules! for_each_flags {
    ($then:ident) => {
        $then! {
            assembly_flags u32 "II.23.1.2" [Assembly.flags, AssemblyRef.flags] {} {
                0x0001 0x0001 PUBLIC_KEY                "" has_public_key
                0x0100 0x0100 RETARGETABLE              "retargetable" is_retargetable
                0x4000 0x4000 DISABLE_JIT_OPTIMIZER     "" disables_jit_optimizer
                0x8000 0x8000 ENABLE_JIT_TRACKING       "" enables_jit_tracking
                0x0070 0x0010 PROCESSOR_MSIL            "" is_for_any_processor clr
                0x0070 0x0020 PROCESSOR_X86             "" is_for_x86 clr
                0x0070 0x0030 PROCESSOR_IA64            "" is_for_ia64 clr
                0x0070 0x0040 PROCESSOR_AMD64           "" is_for_amd64 clr
                0x0070 0x0050 PROCESSOR_ARM             "" is_for_arm clr
                0x0070 0x0060 PROCESSOR_ARM64           "" is_for_arm64 clr
                0x0070 0x0070 NO_PLATFORM               "" is_for_no_platform clr
                0x0080 0x0080 PROCESSOR_SPECIFIED       "" specifies_processor clr
                0x0E00 0x0200 WINDOWS_RUNTIME           "" is_windows_runtime clr
            }
            event_attributes u16 "II.23.1.4" [Event.flags] {} {
                0x0200 0x0200 SPECIAL_NAME              "specialname" is_special_name
                0x0400 0x0400 RT_SPECIAL_NAME           "rtspecialname" is_rt_special_name
            }
            field_attributes u16 "II.23.1.5" [Field.flags] { 0x0007 ACCESS_MASK access } {
                0x0007 0x0000 PRIVATE_SCOPE             "privatescope" is_private_scope
                0x0007 0x0001 PRIVATE                   "private" is_private
                0x0007 0x0002 FAM_AND_ASSEM             "famandassem" is_fam_and_assem
                0x0007 0x0003 ASSEMBLY                  "assembly" is_assembly
                0x0007 0x0004 FAMILY                    "family" is_family
                0x0007 0x0005 FAM_OR_ASSEM              "famorassem" is_fam_or_assem
                0x0007 0x0006 PUBLIC                    "public" is_public
                0x0010 0x0010 STATIC                    "static" is_static
                0x0020 0x0020 INIT_ONLY                 "initonly" is_init_only
                0x0040 0x0040 LITERAL                   "literal" is_literal
                0x0080 0x0080 NOT_SERIALIZED            "notserialized" is_not_serialized
                0x0200 0x0200 SPECIAL_NAME              "specialname" is_special_name
                0x0400 0x0400 RT_SPECIAL_NAME           "rtspecialname" is_rt_special_name
                0x0100 0x0100 HAS_FIELD_RVA             "" has_field_rva
                0x1000 0x1000 HAS_FIELD_MARSHAL         "" has_field_marshal
                0x2000 0x2000 PINVOKE_IMPL              "" is_pinvoke_impl
                0x8000 0x8000 HAS_DEFAULT               "" has_default
            }
            file_attributes u32 "II.23.1.6" [File.flags] {} {
                0x0001 0x0001 CONTAINS_NO_METADATA      "nometadata" contains_no_metadata
            }
            generic_param_attributes u16 "II.23.1.7" [GenericParam.flags] { 0x0003 VARIANCE_MASK variance } {
                0x0003 0x0000 INVARIANT                 "" is_invariant
                0x0003 0x0001 COVARIANT                 "+" is_covariant
                0x0003 0x0002 CONTRAVARIANT             "-" is_contravariant
                0x0004 0x0004 REFERENCE_TYPE            "class" is_reference_type
                0x0008 0x0008 NOT_NULLABLE_VALUE_TYPE   "valuetype" is_not_nullable_value_type
                0x0010 0x0010 DEFAULT_CONSTRUCTOR       ".ctor" has_default_constructor
                0x0020 0x0020 ALLOW_BY_REF_LIKE         "/* byreflike */" allows_by_ref_like clr
            }
            pinvoke_attributes u16 "II.23.1.8" [ImplMap.flags] {
                0x0006 CHAR_SET_MASK char_set,
                0x0700 CALL_CONV_MASK call_conv
            } {
                0x0001 0x0001 NO_MANGLE                 "nomangle" is_no_mangle
                0x0006 0x0000 CHAR_SET_NOT_SPEC         "" is_char_set_not_spec
                0x0006 0x0002 CHAR_SET_ANSI             "ansi" is_char_set_ansi
                0x0006 0x0004 CHAR_SET_UNICODE          "unicode" is_char_set_unicode
                0x0006 0x0006 CHAR_SET_AUTO             "autochar" is_char_set_auto
                0x0040 0x0040 SUPPORTS_LAST_ERROR       "lasterr" supports_last_error
                0x0700 0x0100 CALL_CONV_PLATFORM_API    "winapi" is_call_conv_platform_api
                0x0700 0x0200 CALL_CONV_CDECL           "cdecl" is_call_conv_cdecl
                0x0700 0x0300 CALL_CONV_STDCALL         "stdcall" is_call_conv_stdcall
                0x0700 0x0400 CALL_CONV_THISCALL        "thiscall" is_call_conv_thiscall
                0x0700 0x0500 CALL_CONV_FASTCALL        "fastcall" is_call_conv_fastcall
                0x0030 0x0010 BEST_FIT_ENABLED          "bestfit:on" is_best_fit_enabled clr
                0x0030 0x0020 BEST_FIT_DISABLED         "bestfit:off" is_best_fit_disabled clr
                0x3000 0x1000 CHAR_MAP_ERROR_ENABLED    "charmaperror:on" is_char_map_error_enabled clr
                0x3000 0x2000 CHAR_MAP_ERROR_DISABLED   "charmaperror:off" is_char_map_error_disabled clr
            }
            manifest_resource_attributes u32 "II.23.1.9" [ManifestResource.flags] { 0x0007 VISIBILITY_MASK visibility } {
                0x0007 0x0001 PUBLIC                    "public" is_public
                0x0007 0x0002 PRIVATE                   "private" is_private
            }
            method_attributes u16 "II.23.1.10" [MethodDef.flags] { 0x0007 ACCESS_MASK access } {
                0x0007 0x0000 PRIVATE_SCOPE             "privatescope" is_private_scope
                0x0007 0x0001 PRIVATE                   "private" is_private
                0x0007 0x0002 FAM_AND_ASSEM             "famandassem" is_fam_and_assem
                0x0007 0x0003 ASSEMBLY                  "assembly" is_assembly
                0x0007 0x0004 FAMILY                    "family" is_family
                0x0007 0x0005 FAM_OR_ASSEM              "famorassem" is_fam_or_assem
                0x0007 0x0006 PUBLIC                    "public" is_public
                0x0080 0x0080 HIDE_BY_SIG               "hidebysig" is_hide_by_sig
                0x0100 0x0100 NEW_SLOT                  "newslot" is_new_slot
                0x0200 0x0200 STRICT                    "strict" is_strict
                0x0800 0x0800 SPECIAL_NAME              "specialname" is_special_name
                0x1000 0x1000 RT_SPECIAL_NAME           "rtspecialname" is_rt_special_name
                0x0400 0x0400 ABSTRACT                  "abstract" is_abstract
                0x0010 0x0010 STATIC                    "static" is_static
                0x0040 0x0040 VIRTUAL                   "virtual" is_virtual
                0x0020 0x0020 FINAL                     "final" is_final
                0x0008 0x0008 UNMANAGED_EXPORT          "unmanagedexp" is_unmanaged_export
                0x8000 0x8000 REQUIRE_SEC_OBJECT        "reqsecobj" requires_sec_object
                0x2000 0x2000 PINVOKE_IMPL              "" is_pinvoke_impl
                0x4000 0x4000 HAS_SECURITY              "" has_security
            }
            method_impl_attributes u16 "II.23.1.11" [MethodDef.impl_flags] { 0x0003 CODE_TYPE_MASK code_type } {
                0x0003 0x0000 IL                        "cil" is_il
                0x0003 0x0001 NATIVE                    "native" is_native
                0x0003 0x0002 OPTIL                     "optil" is_optil
                0x0003 0x0003 RUNTIME                   "runtime" is_runtime
                0x0004 0x0000 MANAGED                   "managed" is_managed
                0x0004 0x0004 UNMANAGED                 "unmanaged" is_unmanaged
                0x0008 0x0008 NO_INLINING               "noinlining" is_no_inlining
                0x0010 0x0010 FORWARD_REF               "forwardref" is_forward_ref
                0x0020 0x0020 SYNCHRONIZED              "synchronized" is_synchronized
                0x0040 0x0040 NO_OPTIMIZATION           "nooptimization" is_no_optimization
                0x0080 0x0080 PRESERVE_SIG              "preservesig" is_preserve_sig
                0x0100 0x0100 AGGRESSIVE_INLINING       "aggressiveinlining" is_aggressive_inlining clr
                0x0200 0x0200 AGGRESSIVE_OPTIMIZATION   "/* aggressiveoptimization */" is_aggressive_optimization clr
                0x0400 0x0400 SECURITY_MITIGATIONS      "" has_security_mitigations clr
                0x1000 0x1000 INTERNAL_CALL             "internalcall" is_internal_call
                0x2000 0x2000 ASYNC                     "/* async */" is_async clr
            }
            method_semantics_attributes u16 "II.23.1.12" [MethodSemantics.semantics] {} {
                0x0001 0x0001 SETTER                    ".set" is_setter
                0x0002 0x0002 GETTER                    ".get" is_getter
                0x0004 0x0004 OTHER                     ".other" is_other
                0x0008 0x0008 ADD_ON                    ".addon" is_add_on
                0x0010 0x0010 REMOVE_ON                 ".removeon" is_remove_on
                0x0020 0x0020 FIRE                      ".fire" is_fire
            }
            param_attributes u16 "II.23.1.13" [Param.flags] {} {
                0x0001 0x0001 IN                        "[in]" is_in
                0x0002 0x0002 OUT                       "[out]" is_out
                0x0010 0x0010 OPTIONAL                  "[opt]" is_optional
                0x1000 0x1000 HAS_DEFAULT               "" has_default
                0x2000 0x2000 HAS_FIELD_MARSHAL         "" has_field_marshal
            }
            property_attributes u16 "II.23.1.14" [Property.flags] {} {
                0x0200 0x0200 SPECIAL_NAME              "specialname" is_special_name
                0x0400 0x0400 RT_SPECIAL_NAME           "rtspecialname" is_rt_special_name
                0x1000 0x1000 HAS_DEFAULT               "" has_default
            }
            type_attributes u32 "II.23.1.15" [TypeDef.flags, ExportedType.flags] {
                0x0007 VISIBILITY_MASK visibility,
                0x0018 LAYOUT_MASK layout
            } {
                0x0020 0x0020 INTERFACE                 "interface" is_interface
                0x0007 0x0000 NOT_PUBLIC                "private" is_not_public
                0x0007 0x0001 PUBLIC                    "public" is_public
                0x0007 0x0002 NESTED_PUBLIC             "nested public" is_nested_public
                0x0007 0x0003 NESTED_PRIVATE            "nested private" is_nested_private
                0x0007 0x0004 NESTED_FAMILY             "nested family" is_nested_family
                0x0007 0x0005 NESTED_ASSEMBLY           "nested assembly" is_nested_assembly
                0x0007 0x0006 NESTED_FAM_AND_ASSEM      "nested famandassem" is_nested_fam_and_assem
                0x0007 0x0007 NESTED_FAM_OR_ASSEM       "nested famorassem" is_nested_fam_or_assem
                0x0018 0x0000 AUTO_LAYOUT               "auto" is_auto_layout
                0x0018 0x0008 SEQUENTIAL_LAYOUT         "sequential" is_sequential_layout
                0x0018 0x0010 EXPLICIT_LAYOUT           "explicit" is_explicit_layout
                0x3_0000 0x0_0000 ANSI_CLASS            "ansi" is_ansi_class
                0x3_0000 0x1_0000 UNICODE_CLASS         "unicode" is_unicode_class
                0x3_0000 0x2_0000 AUTO_CLASS            "autochar" is_auto_class
                0x3_0000 0x3_0000 CUSTOM_FORMAT_CLASS   "" is_custom_format_class
                0x0080 0x0080 ABSTRACT                  "abstract" is_abstract
                0x0100 0x0100 SEALED                    "sealed" is_sealed
                0x0400 0x0400 SPECIAL_NAME              "specialname" is_special_name
                0x0800 0x0800 RT_SPECIAL_NAME           "rtspecialname" is_rt_special_name
                0x1000 0x1000 IMPORT                    "import" is_import
                0x2000 0x2000 SERIALIZABLE              "serializable" is_serializable
                0x4000 0x4000 WINDOWS_RUNTIME           "/* windowsruntime */" is_windows_runtime clr
                0x10_0000 0x10_0000 BEFORE_FIELD_INIT   "beforefieldinit" is_before_field_init
                0x20_0000 0x20_0000 FORWARDER           "forwarder" is_forwarder
                0x4_0000 0x4_0000 HAS_SECURITY          "" has_security
                0xC0_0000 0xC0_0000 CUSTOM_STRING_FORMAT "" has_custom_string_format
            }
            cli_flags u32 "II.25.3.3.1" [CliHeader.flags] {} {
                0x0001 0x0001 IL_ONLY                   "" is_il_only
                0x0002 0x0002 REQUIRED_32BIT            "" is_required_32bit
                0x0004 0x0004 IL_LIBRARY                "" is_il_library clr
                0x0008 0x0008 STRONG_NAME_SIGNED        "" is_strong_name_signed
                0x0010 0x0010 NATIVE_ENTRY_POINT        "" has_native_entry_point
                0x1_0000 0x1_0000 TRACK_DEBUG_DATA      "" tracks_debug_data
                0x2_0000 0x2_0000 PREFERRED_32BIT       "" is_preferred_32bit clr
            }
            vtable_fixup_flags u16 "II.25.3.3.3" [] {} {
                0x0001 0x0001 SLOTS_32BIT               "int32" is_32bit
                0x0002 0x0002 SLOTS_64BIT               "int64" is_64bit
                0x0004 0x0004 FROM_UNMANAGED            "fromunmanaged" is_from_unmanaged
                0x0010 0x0010 CALL_MOST_DERIVED         "callmostderived" is_call_most_derived
            }
            local_variable_attributes u16 "PDB.LocalVariable" [LocalVariable.attributes] {} {
                0x0001 0x0001 DEBUGGER_HIDDEN           "" is_debugger_hidden
            }
        }
    };
}

/// A flag: its mask, its value under that mask, and ilasm's word.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Flag {
    /// The mask.
    pub mask: u32,
    /// The masked value if the flag is set.
    pub value: u32,
    /// The word in ilasm. Empty if there is none.
    pub word: &'static str,
}

macro_rules! of_standard {
    ($mask:literal) => {
        $mask
    };
    ($mask:literal clr) => {
        0
    };
}

macro_rules! predicates {
    ($row:ident $column:ident $module:ident $ty:ident { $($bits:literal $mask_name:ident $part:ident),* }
     { $($mask:literal $value:literal $name:ident $word:literal $predicate:ident $($clr:ident)?)* }) => {
        impl $row {
            $(#[doc = concat!("The bits [`", stringify!($module), "::", stringify!($mask_name), "`].")]
            #[inline]
            pub const fn $part(&self) -> $ty {
                self.$column & $module::$mask_name
            })*
            $(#[doc = concat!("Whether [`", stringify!($module), "::", stringify!($name), "`] is set.")]
            #[inline]
            pub const fn $predicate(&self) -> bool {
                self.$column & $mask == $module::$name
            })*
        }
    };
}

macro_rules! flags {
    ($($module:ident $ty:ident $spec:literal [$($row:ident.$column:ident),*] $parts:tt $flags:tt)*) => {$(
        flags!(@constants $module $ty $spec $parts $flags);
        $(predicates!($row $column $module $ty $parts $flags);)*
    )*};
    (@constants $module:ident $ty:ident $spec:literal { $($bits:literal $mask_name:ident $part:ident),* }
     { $($mask:literal $value:literal $name:ident $word:literal $predicate:ident $($clr:ident)?)* }) => {
        #[doc = concat!("The flags of ", $spec, ".")]
        pub mod $module {
            use super::Flag;

            $(#[doc = concat!("The bits ", stringify!($bits), ", which mean one thing together.")]
            pub const $mask_name: $ty = $bits;)*
            $(#[doc = concat!("Value ", stringify!($value), " of the bits ", stringify!($mask), ".")]
            pub const $name: $ty = $value;)*
            /// The bits that the standard defines.
            pub const STANDARD: $ty = 0 $(| of_standard!($mask $($clr)?))*;
            /// The bits that the standard or the runtimes define.
            pub const ALL: $ty = 0 $(| $mask)*;
            /// The flags, in the order of their words in ilasm's sources.
            pub const LIST: &[Flag] = &[$(Flag { mask: $mask, value: $value, word: $word }),*];
        }
    };
}
for_each_flags!(flags);

impl MethodDef {
    /// Whether its RVA points to an IL body (II.22.26, rule 34; II.25.4). An internal call may have one, which never
    /// runs.
    #[inline]
    pub const fn has_il_body(&self) -> bool {
        self.rva != 0 && self.is_il() && self.is_managed()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{schema::Str, token::Rid};

    #[test]
    fn a_value_lies_in_its_mask_and_no_flag_comes_twice() {
        macro_rules! check {
            ($($module:ident $ty:ident $spec:literal $rows:tt $parts:tt $flags:tt)*) => {$(
                for (number, flag) in $module::LIST.iter().enumerate() {
                    let name = stringify!($module);
                    assert_eq!(flag.value & !flag.mask, 0, "{name} {flag:?}");
                    for other in &$module::LIST[..number] {
                        let is_apart = if flag.mask == other.mask { flag.value != other.value } else { flag.mask & other.mask == 0 };
                        assert!(is_apart, "{name} {flag:?} {other:?}");
                    }
                }
                assert_eq!($module::STANDARD & !$module::ALL, 0);
            )*};
        }
        for_each_flags!(check);
    }

    #[test]
    fn what_the_standard_knows_and_what_runtimes_know() {
        assert_eq!((method_impl_attributes::STANDARD, method_impl_attributes::ALL), (0x10FF, 0x37FF));
        assert_eq!((assembly_flags::STANDARD, assembly_flags::ALL), (0xC101, 0xCFF1));
        assert_eq!((field_attributes::ALL, method_attributes::ALL, type_attributes::ALL), (0xB7F7, 0xFFFF, 0x00F7_7DBF));
        assert_eq!((param_attributes::ALL, property_attributes::ALL, event_attributes::ALL), (0x3013, 0x1600, 0x600));
        assert_eq!((pinvoke_attributes::ALL, generic_param_attributes::ALL), (0x3777, 0x3F));
        assert_eq!((method_semantics_attributes::ALL, cli_flags::ALL), (0x3F, 0x3_001F));
    }

    #[test]
    fn only_managed_il_at_an_rva_is_an_il_body() {
        let method = |rva, impl_flags| MethodDef {
            rva,
            impl_flags,
            flags: 0,
            name: Str(0),
            signature: crate::schema::Blob(0),
            param_list: Rid::NONE,
        };
        let has_body = |rva, impl_flags| method(rva, impl_flags).has_il_body();
        assert!(has_body(0x2050, 0) && has_body(0x2050, method_impl_attributes::ASYNC | method_impl_attributes::SYNCHRONIZED));
        assert!(has_body(0x2050, method_impl_attributes::INTERNAL_CALL));
        assert!(!has_body(0, 0));
        for code_type in [method_impl_attributes::NATIVE, method_impl_attributes::OPTIL, method_impl_attributes::RUNTIME] {
            assert!(!has_body(0x2050, code_type));
        }
        assert!(!has_body(0x2050, method_impl_attributes::UNMANAGED));
    }
}
