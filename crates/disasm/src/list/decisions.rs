//! The decision on each method: whether it is or would be instrumented.

use ecma335::{Error, Image, Metadata, Rid, schema::MethodDef};
use names::Mark;
use weave::{Refusal, Tracker, Weave, WovenBodies};

use super::options::Methods;

/// The decisions on the methods of a file.
pub(crate) struct Decisions {
    /// The reason to refuse the whole file.
    pub(crate) refusal: Option<String>,
    /// The content of an instrumented file's mark: the tool with its version, and the options.
    pub(crate) mark: Option<(String, String)>,
    /// `woven` or the code of the reason to skip the method, by row number less one. Empty if there is no decision.
    words: Vec<&'static str>,
}

/// The word for a method that is or would be instrumented.
const WOVEN: &str = "woven";

impl Decisions {
    /// Instruments the module without writing it, because only that reveals all skipped methods. For an instrumented
    /// file, it reads the result.
    pub(crate) fn new(image: &Image<'_>, metadata: &Metadata<'_>, methods: &Methods, tracker: &Tracker) -> Result<Self, Error> {
        let embedding_refusal = || methods.weave.embed.then(|| weave::refusal::for_embedding(metadata, tracker)).flatten();
        let mut refusal = weave::refusal::for_file(image, metadata, tracker).or_else(embedding_refusal);
        let mark = Mark::read(metadata).map(|mark| (mark.tool.to_owned(), mark.options.to_owned()));
        let words = match refusal {
            None => match decide(methods, image, metadata, tracker) {
                Ok(words) => words,
                Err(error) => {
                    refusal = Some(Refusal::from_error(&error).ok_or(error)?);
                    Vec::new()
                }
            },
            Some(Refusal::AlreadyWoven) => {
                let woven = weave::woven_methods(image, metadata);
                woven.into_iter().map(|is_woven| if is_woven { WOVEN } else { "-" }).collect()
            }
            Some(_) => Vec::new(),
        };
        Ok(Self { refusal: refusal.map(|refusal| refusal.to_string()), mark, words })
    }

    /// `woven`, or the code of the reason to skip the method.
    pub(crate) fn word(&self, method: Rid<MethodDef>) -> &'static str {
        (method.get() as usize).checked_sub(1).and_then(|index| self.words.get(index)).copied().unwrap_or("-")
    }

    /// The same in a table for people.
    pub(crate) fn shown(&self, method: Rid<MethodDef>) -> &'static str {
        let word = self.word(method);
        if word == WOVEN { "instrumented" } else { word }
    }

    /// The numbers of methods and of instrumented ones. None if there is no decision.
    pub(crate) fn summary(&self) -> Option<String> {
        let woven = self.words.iter().filter(|word| **word == WOVEN).count();
        let when = if self.refusal.is_some() { "instrumented" } else { "to be instrumented" };
        let says_something = self.refusal.is_none() || !self.words.is_empty();
        says_something.then(|| format!("{} methods, {woven} {when}", self.words.len()))
    }
}

fn decide(methods: &Methods, image: &Image<'_>, metadata: &Metadata<'_>, tracker: &Tracker) -> Result<Vec<&'static str>, Error> {
    let how = Weave { options: &methods.weave, pdb: methods.pdb.as_deref(), ..Weave::new(tracker) };
    let decisions = WovenBodies::new(image, metadata, &how)?.into_decisions();
    Ok(decisions.iter().map(|decision| decision.outcome.as_ref().map_or_else(weave::Reason::code, |_| WOVEN)).collect())
}
