//! Changes the assemblies that the tracker refers to: a program without `mscorlib` has other assemblies that define the types.

use ecma335::{
    Image, ImageWriter, Metadata, MetadataBuilder, Result, Rid, Segments, Table, Token,
    schema::{AssemblyRef, ResolutionScope, TypeRef},
};
use ilrewrite::AssemblyName;
use sha2::{Digest, Sha256};
use tracker_runtime::KEY;
use weave::StrongNameKey;

/// Returns an assembly with new assembly references. `types` has for each TypeRef row, by number less one, the index of its new
/// assembly. It has `None` for nested types, which follow their enclosing type.
///
/// # Errors
/// If the assembly cannot be written.
pub(crate) fn retarget(
    image: &Image<'_>,
    metadata: &Metadata<'_>,
    assemblies: &[AssemblyName],
    types: &[Option<usize>],
) -> Result<Vec<u8>> {
    let mut builder = MetadataBuilder::new(metadata);
    let rows = metadata.tables.count(Table::AssemblyRef) as usize;
    let mut scopes = Vec::new();
    // No row may be removed: surplus rows repeat the first.
    for index in 0..assemblies.len().max(rows) {
        let Some(assembly) = assemblies.get(index).or(assemblies.first()) else { break };
        let [major, minor, build, revision] = assembly.version;
        let row = AssemblyRef {
            public_key_or_token: builder.blob(&assembly.public_key_token)?,
            name: builder.string(&assembly.name)?,
            ..AssemblyRef { major, minor, build, revision, ..metadata.row(Rid::new(1))? }
        };
        scopes.push(if index < rows {
            builder.replace(Rid::new(index as u32 + 1), &row);
            Token::new(Table::AssemblyRef, index as u32 + 1)
        } else {
            builder.add(&row)?
        });
    }
    for ((rid, row), assembly) in metadata.tables.rows::<TypeRef>().zip(types) {
        if let Some(scope) = assembly.and_then(|index| scopes.get(index)) {
            builder.replace(rid, &TypeRef { resolution_scope: ResolutionScope::new(*scope).unwrap_or_default(), ..row });
        }
    }
    builder.set_mvid(mvid(metadata.mvid()?, assemblies));
    let key = StrongNameKey::parse(KEY).ok();
    let mut writer = ImageWriter::new(image, metadata, false);
    writer.set_signature_size(key.as_ref().map_or(0, StrongNameKey::signature_size));
    let mut file = writer.finish(Segments::default(), builder)?;
    if let Some(key) = key {
        let signature = key.sign(file.signed_content());
        file.sign(&signature);
    }
    Ok(file.into_segments().to_vec())
}

/// Returns an MVID for the new version of the module.
fn mvid(of_original: [u8; 16], assemblies: &[AssemblyName]) -> [u8; 16] {
    let mut hash = Sha256::new_with_prefix(of_original);
    for AssemblyName { name, version, .. } in assemblies {
        hash.update(format!("{name}, {version:?};"));
    }
    let mut mvid = [0; 16];
    mvid.iter_mut().zip(hash.finalize()).for_each(|(byte, hashed)| *byte = hashed);
    // Version 8, for values made by a custom rule (RFC 9562).
    mvid[7] = mvid[7] & 0x0F | 0x80;
    mvid[8] = mvid[8] & 0x3F | 0x80;
    mvid
}
