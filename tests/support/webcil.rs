//! Assemblies in Webcil containers, as the SDK packs them for browsers.

use little_endian::{ByteOrder, LE, PutNumbers};

/// The size of a Webcil header, and of a section's in it.
const HEADER: usize = 28;
const SECTION: usize = 16;
/// The id of a WebAssembly module's data section.
const DATA: u8 = 11;

/// Packs an assembly as another one is packed: that module's code, and this one's bytes.
pub(crate) fn to_webcil(assembly: &[u8], like: &[u8]) -> Vec<u8> {
    let payload = payload(assembly);
    let pack = |padding: usize| {
        let mut data = vec![2, 1, 4 + padding as u8];
        data.put_u32(payload.len() as u32);
        data.extend(vec![0; padding]);
        data.push(1);
        put_leb(payload.len(), &mut data);
        data.extend(&payload);
        let mut module = like[..start_of_data(like)].to_vec();
        module.push(DATA);
        put_leb(data.len(), &mut module);
        module.extend(data);
        module
    };
    // The runtime wants its first byte at a multiple of four.
    let is_aligned = |module: &Vec<u8>| (module.len() - payload.len()).is_multiple_of(4);
    (0..4).map(pack).find(is_aligned).expect("one of four follows another")
}

/// Returns the assembly without the headers of PE: those of Webcil, and the sections.
fn payload(assembly: &[u8]) -> Vec<u8> {
    let u16_at = |at: usize| LE::read_u16(&assembly[at..]);
    let u32_at = |at: usize| LE::read_u32(&assembly[at..]);
    let optional = u32_at(0x3c) as usize + 24;
    let directories = optional + if u16_at(optional) == 0x20b { 112 } else { 96 };
    let (cli, debug) = (directories + 14 * 8, directories + 6 * 8);
    let count = usize::from(u16_at(optional - 18));
    let table = optional + usize::from(u16_at(optional - 4));
    let mut payload = b"WbIL".to_vec();
    payload.extend([0, 0, 0, 0, count as u8, 0, 0, 0]);
    [cli, cli + 4, debug, debug + 4].iter().for_each(|at| payload.put_u32(u32_at(*at)));
    assert_eq!(payload.len(), HEADER);
    let sections: Vec<[u32; 4]> =
        (0..count).map(|index| [8, 12, 16, 20].map(|field| u32_at(table + index * 40 + field))).collect();
    let mut at = HEADER + count * SECTION;
    for [size, address, raw_size, _] in &sections {
        [*size, *address, *raw_size, at as u32].iter().for_each(|field| payload.put_u32(*field));
        at += *raw_size as usize;
    }
    sections.iter().for_each(|[_, _, size, from]| payload.extend(&assembly[*from as usize..][..*size as usize]));
    payload
}

/// Returns where a module's data section begins.
fn start_of_data(module: &[u8]) -> usize {
    let mut at = 8;
    while module[at] != DATA {
        let (mut size, mut shift, mut next) = (0_usize, 0, at + 1);
        loop {
            size |= usize::from(module[next] & 0x7f) << shift;
            shift += 7;
            next += 1;
            if module[next - 1] & 0x80 == 0 {
                break;
            }
        }
        at = next + size;
    }
    at
}

fn put_leb(mut value: usize, to: &mut Vec<u8>) {
    while value >= 0x80 {
        to.push((value & 0x7f) as u8 | 0x80);
        value >>= 7;
    }
    to.push(value as u8);
}
