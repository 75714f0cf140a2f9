//! The signatures of locals of woven bodies. They reuse the rows and bytes of signatures that no body uses any more.

use std::cmp::Reverse;

use ecma335::{
    Error, Image, Metadata, MetadataBuilder, MethodBody, Rid, Rva, Table, Token,
    element::convention,
    schema::{Blob, MethodDef, StandAloneSig},
    vacancy::vacant_blobs,
};
use foldhash::fast::RandomState;
use indexmap::IndexSet;

/// The distinct signatures. Until all are known, a token holds the signature's number in this set.
#[derive(Default)]
pub(crate) struct LocalSigs(IndexSet<Vec<u8>, RandomState>);

impl LocalSigs {
    /// The provisional token of a signature.
    pub(crate) fn ask(&mut self, signature: &[u8]) -> Token {
        let known = self.0.get_index_of(signature);
        let index = known.unwrap_or_else(|| self.0.insert_full(signature.to_vec()).0);
        Token::new(Table::StandAloneSig, index as u32 + 1)
    }

    /// Gives each signature a row, and returns the tokens by number. Unused rows are taken first.
    ///
    /// # Errors
    /// If the table or the heap is full.
    pub(crate) fn settle(
        self,
        builder: &mut MetadataBuilder<'_, '_>,
        metadata: &Metadata<'_>,
        mut unused: Vec<Rid<StandAloneSig>>,
    ) -> Result<Vec<Token>, Error> {
        unused.truncate(self.0.len());
        if !unused.is_empty() {
            let is_replaced =
                |table: Table, row: u32| table == Table::StandAloneSig && unused.binary_search(&Rid::new(row)).is_ok();
            builder.vacate_blobs(vacant_blobs(metadata, is_replaced));
        }
        // The longest signatures are placed first, so that shorter ones fit in the remaining gaps.
        let mut by_length: Vec<usize> = (0..self.0.len()).collect();
        by_length.sort_by_key(|index| Reverse(self.0[*index].len()));
        let mut blobs = vec![Blob::default(); self.0.len()];
        for index in by_length {
            blobs[index] = builder.place_blob(&self.0[index])?;
        }
        let mut unused = unused.into_iter();
        let give_row = |signature: Blob| match unused.next() {
            Some(rid) => {
                builder.replace(rid, &StandAloneSig { signature });
                Ok(Token::new(Table::StandAloneSig, rid.get()))
            }
            None => builder.add(&StandAloneSig { signature }),
        };
        blobs.into_iter().map(give_row).collect()
    }
}

/// The rows of signatures of locals that only methods with a new signature use, in order.
pub(crate) fn unused(
    image: &Image<'_>,
    metadata: &Metadata<'_>,
    gets_another: impl Fn(Rid<MethodDef>) -> bool,
) -> Vec<Rid<StandAloneSig>> {
    let mut is_used = vec![false; metadata.tables.count(Table::StandAloneSig) as usize + 1];
    for (rid, row) in metadata.tables.rows::<MethodDef>() {
        if row.rva != 0 && !gets_another(rid) {
            let used = of_body(image, row.rva).and_then(Token::rid_in::<StandAloneSig>);
            used.and_then(|used| is_used.get_mut(used.get() as usize)).into_iter().for_each(|is_used| *is_used = true);
        }
    }
    let is_unused = |(rid, row): &(Rid<StandAloneSig>, StandAloneSig)| {
        !is_used[rid.get() as usize] && metadata.blob(row.signature).is_ok_and(|blob| blob.first() == Some(&convention::LOCAL))
    };
    metadata.tables.rows().filter(is_unused).map(|(rid, _)| rid).collect()
}

/// The LocalVarSigTok of the body at an address, if it is a fat one.
pub(crate) fn of_body(image: &Image<'_>, rva: u32) -> Option<Token> {
    MethodBody::local_var_sig_of(image.cursor_at(Rva(rva)).ok()?.rest())
}
