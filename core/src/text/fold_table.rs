//! What one character becomes when a text is folded; the table itself is generated from Unicode's data by `cargo xtask gen`.

/// Code points that share one block number.
pub const BLOCK: usize = 16;

/// Values of [`FoldTable::values`] that stand for no character of their own.
pub mod value {
    /// The character stays.
    pub const KEEP: u16 = 0;
    /// See [`super::Fold::Separator`].
    pub const SEPARATOR: u16 = 1;
    /// See [`super::Fold::Remove`].
    pub const REMOVE: u16 = 2;
    /// See [`super::Fold::Mark`].
    pub const MARK: u16 = 3;
    /// With a number below: that string of the table.
    pub const TEXT: u16 = 0x4000;
    /// With a number below: that string of the table, a Latin letter and then what the character is otherwise.
    pub const LOOKALIKE: u16 = 0x8000;
}

/// The fold of every character, in static tables.
#[derive(Clone, Copy, Debug)]
pub struct FoldTable<'t> {
    /// Block number by code point / [`BLOCK`]; characters behind its end stay as they are.
    pub blocks: &'t [u16],
    /// [`BLOCK`] values for each block number, see [`value`].
    pub values: &'t [u16],
    /// All strings, one behind the other.
    pub strings: &'t str,
    /// Where each string begins in `strings`, and the end.
    pub offsets: &'t [u16],
}

/// What a character becomes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fold<'t> {
    /// Itself.
    Keep,
    /// White space, punctuation or a symbol: one space for each run.
    Separator,
    /// Invisible (Default_Ignorable_Code_Point): nothing.
    Remove,
    /// A combining mark: nothing behind ASCII, itself behind other letters.
    Mark,
    /// These characters.
    Text(&'t str),
    /// A letter of another script that looks like a Latin one: that one in a word that mixes scripts or has look-alikes only, otherwise the text.
    Lookalike(&'t str, &'t str),
}

impl<'t> FoldTable<'t> {
    /// A table in which every character stays, for tests of what does not fold.
    pub const EMPTY: FoldTable<'static> = FoldTable { blocks: &[], values: &[], strings: "", offsets: &[0] };

    /// What `letter`, which is not ASCII, becomes.
    pub fn fold(&self, letter: char) -> Fold<'t> {
        let point = letter as usize;
        let Some(&block) = self.blocks.get(point / BLOCK) else {
            // Tags and the supplementary variation selectors lie alone, far behind everything else.
            return if (0xe_0000..0xe_1000).contains(&point) { Fold::Remove } else { Fold::Keep };
        };
        let found = self.values.get(usize::from(block) * BLOCK + point % BLOCK).copied().unwrap_or(value::KEEP);
        match found {
            value::KEEP => Fold::Keep,
            value::SEPARATOR => Fold::Separator,
            value::REMOVE => Fold::Remove,
            value::MARK => Fold::Mark,
            _ => {
                let text = self.string(usize::from(found & !(value::TEXT | value::LOOKALIKE)));
                match text.split_at_checked(1) {
                    Some((latin, other)) if found & value::LOOKALIKE != 0 => Fold::Lookalike(latin, other),
                    _ => Fold::Text(text),
                }
            }
        }
    }

    /// Size of the tables in bytes, as they lie in the module's data section.
    pub fn size_bytes(&self) -> usize {
        2 * (self.blocks.len() + self.values.len() + self.offsets.len()) + self.strings.len()
    }

    fn string(&self, number: usize) -> &'t str {
        let bounds = (self.offsets.get(number), self.offsets.get(number + 1));
        let (Some(&from), Some(&to)) = bounds else { return "" };
        self.strings.get(usize::from(from)..usize::from(to)).unwrap_or_default()
    }
}
