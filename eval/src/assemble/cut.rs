//! Cutting a text over consecutive turns, where a writer would: between sentences if one ends near, else between words.

use unicode_segmentation::UnicodeSegmentation as _;

/// Words that each part has at least, on average over the text.
const WORDS_A_PART: usize = 4;

/// The text in `parts` pieces of about the same length, all of them there and none blank; `None` when it has too few words for that.
pub fn cut(text: &str, parts: usize) -> Option<Vec<&str>> {
    if parts < 2 || text.unicode_words().count() < parts * WORDS_A_PART {
        return None;
    }
    let sentences: Vec<usize> = text.split_sentence_bound_indices().map(|(at, _)| at).collect();
    // Where a word begins. White space stays with what it follows.
    let words: Vec<usize> = text.unicode_word_indices().map(|(at, _)| at).collect();
    let mut pieces = Vec::new();
    let mut from = 0;
    for part in 1..parts {
        let ideal = text.len() * part / parts;
        // A sentence that ends within a quarter of a part's length is near.
        let near = text.len() / parts / 4;
        let at = nearest(&sentences, ideal).filter(|at| at.abs_diff(ideal) <= near && *at > from).or_else(|| nearest(&words, ideal))?;
        let piece = text.get(from..at)?;
        if piece.trim().is_empty() {
            return None;
        }
        pieces.push(piece);
        from = at;
    }
    let last = text.get(from..)?;
    pieces.push(last);
    pieces.iter().all(|piece| piece.unicode_words().next().is_some()).then_some(pieces)
}

fn nearest(borders: &[usize], ideal: usize) -> Option<usize> {
    borders.iter().copied().min_by_key(|at| at.abs_diff(ideal))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sentences_first_then_words() {
        let text = "Here is one sentence of seven words. And this is the other sentence of it.";
        assert_eq!(cut(text, 2).unwrap(), ["Here is one sentence of seven words. ", "And this is the other sentence of it."]);
        // One sentence of 44 bytes: of the words "six" at 24 begins nearest to the middle, "five" at 19.
        let text = "one two three four five six seven eight nine";
        assert_eq!(cut(text, 2).unwrap(), ["one two three four five ", "six seven eight nine"]);
        let text = "一二三四五六七八。九十一二三四五六。";
        assert_eq!(cut(text, 2).unwrap(), ["一二三四五六七八。", "九十一二三四五六。"], "without white space");
    }

    #[test]
    fn nothing_is_lost() {
        let text =
            "  Alpha beta. Gamma delta epsilon zeta!\n\nEta theta iota kappa lambda, mu nu xi omicron; pi rho sigma tau. Upsilon phi?";
        for parts in 2..=4 {
            let pieces = cut(text, parts).unwrap();
            assert_eq!((pieces.len(), pieces.concat()), (parts, text.to_owned()));
        }
    }

    #[test]
    fn a_text_of_few_words_is_not_cut() {
        assert_eq!(cut("one two three four five six seven", 2), None);
        assert_eq!(cut("one two three four five six seven eight", 1), None);
        assert!(cut("one two three four five six seven eight", 2).is_some());
        assert_eq!(cut("", 2), None);
    }
}
