package signalbox

import (
	_ "embed"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode"
)

// Unicode normalization (UAX #15). The standard library has none, and two people with one address
// must not get two digests because a keyboard composes its letters in another way.

// composeCompatible returns NFKC.
func composeCompatible(text string) string { return normalize(text, true) }

// composeCanonical returns NFC.
func composeCanonical(text string) string { return normalize(text, false) }

func normalize(text string, isCompatible bool) string {
	isASCII := func(r rune) bool { return r < 0x80 }
	if strings.TrimLeftFunc(text, isASCII) == "" {
		return text
	}
	tables := unicodeTables()
	decomposed := make([]rune, 0, len(text))
	for _, r := range text {
		decomposed = tables.appendDecomposition(decomposed, r, isCompatible)
	}
	tables.sortMarks(decomposed)
	return string(tables.compose(decomposed))
}

type normalizationTables struct {
	// canonical and compatible have full decompositions; compatible only those that differ.
	canonical  map[rune][]rune
	compatible map[rune][]rune
	// order has the rank of each combining mark. Others have 0.
	order map[rune]int
	pairs map[[2]rune]rune
}

// unicodeTablesText is printed by print-unicode.ts, which describes its lines.
//
//go:embed unicode_tables.txt
var unicodeTablesText string

// unicodeTables reads the embedded file when it is needed first, which takes about a millisecond.
var unicodeTables = sync.OnceValue(func() *normalizationTables {
	t := &normalizationTables{
		canonical:  map[rune][]rune{},
		compatible: map[rune][]rune{},
		order:      map[rune]int{},
		pairs:      map[[2]rune]rune{},
	}
	for _, line := range strings.Split(strings.TrimSpace(unicodeTablesText), "\n") {
		fields := strings.Fields(line)
		kind, values := fields[0], fields[2:]
		if kind == "#" {
			rank, _ := strconv.Atoi(fields[1])
			for _, r := range readRunes(values) {
				t.order[r] = rank
			}
			continue
		}
		r, decomposition := readRune(fields[1]), readRunes(values)
		switch kind {
		case "~":
			t.compatible[r] = decomposition
		case "=":
			t.canonical[r] = decomposition
			t.addPair(r, decomposition)
		case ">":
			t.canonical[r] = decomposition
		}
	}
	return t
})

// addPair needs the pairs of shorter decompositions, which the file has first.
func (t *normalizationTables) addPair(composed rune, decomposition []rune) {
	last := len(decomposition) - 1
	first := t.compose(slices.Clone(decomposition[:last]))
	if len(first) == 1 {
		t.pairs[[2]rune{first[0], decomposition[last]}] = composed
	}
}

func readRunes(fields []string) []rune {
	runes := make([]rune, len(fields))
	for at, field := range fields {
		runes[at] = readRune(field)
	}
	return runes
}

func readRune(text string) rune {
	value, _ := strconv.ParseInt(text, 16, 32)
	return rune(value)
}

// Hangul syllables are composed by arithmetic (The Unicode Standard, section 3.12).
const (
	syllableBase, leadBase, vowelBase, tailBase = 0xac00, 0x1100, 0x1161, 0x11a7
	leadCount, vowelCount, tailCount            = 19, 21, 28
	syllableCount                               = leadCount * vowelCount * tailCount
)

func (t *normalizationTables) appendDecomposition(to []rune, r rune, isCompatible bool) []rune {
	if index := r - syllableBase; index >= 0 && index < syllableCount {
		lead := leadBase + index/(vowelCount*tailCount)
		vowel := vowelBase + index%(vowelCount*tailCount)/tailCount
		to = append(to, lead, vowel)
		if tail := index % tailCount; tail > 0 {
			to = append(to, tailBase+tail)
		}
		return to
	}
	if decomposition, isFound := t.compatible[r]; isFound && isCompatible {
		return append(to, decomposition...)
	}
	if decomposition, isFound := t.canonical[r]; isFound {
		return append(to, decomposition...)
	}
	return append(to, r)
}

// sortMarks puts each run of combining marks in the canonical order.
func (t *normalizationTables) sortMarks(runes []rune) {
	for start := 0; start < len(runes); start++ {
		end := start
		for end < len(runes) && t.order[runes[end]] > 0 {
			end++
		}
		slices.SortStableFunc(runes[start:end], func(a, b rune) int { return t.order[a] - t.order[b] })
		start = end
	}
}

// compose composes in place.
func (t *normalizationTables) compose(runes []rune) []rune {
	composed := runes[:0]
	starter := -1
	for _, r := range runes {
		order := t.order[r]
		if starter >= 0 {
			// A mark of the same or a higher rank in between blocks the composition.
			isNext := starter == len(composed)-1
			isBlocked := !isNext && t.order[composed[len(composed)-1]] >= order
			if pair := t.composePair(composed[starter], r); pair != 0 && !isBlocked {
				composed[starter] = pair
				continue
			}
		}
		if order == 0 {
			starter = len(composed)
		}
		composed = append(composed, r)
	}
	return composed
}

// composePair returns 0 when there is no composition.
func (t *normalizationTables) composePair(first, second rune) rune {
	lead, vowel := first-leadBase, second-vowelBase
	if lead >= 0 && lead < leadCount && vowel >= 0 && vowel < vowelCount {
		return syllableBase + (lead*vowelCount+vowel)*tailCount
	}
	syllable, tail := first-syllableBase, second-tailBase
	if syllable >= 0 && syllable < syllableCount && syllable%tailCount == 0 &&
		tail > 0 && tail < tailCount {
		return first + tail
	}
	return t.pairs[[2]rune{first, second}]
}

// toLower is the lower case of the Unicode Standard, with its special cases. Package strings maps
// single characters, and would give one address two digests.
func toLower(text string) string {
	if !strings.ContainsAny(text, "\u0130\u03a3") {
		return strings.ToLower(text)
	}
	runes := []rune(text)
	var lower strings.Builder
	for at, r := range runes {
		switch {
		case r == '\u0130':
			lower.WriteString("i\u0307")
		case r == '\u03a3' && isFinalSigma(runes, at):
			lower.WriteRune('\u03c2')
		default:
			lower.WriteRune(unicode.ToLower(r))
		}
	}
	return lower.String()
}

// isFinalSigma: after a cased letter and not before one, with ignorable characters between.
func isFinalSigma(runes []rune, at int) bool {
	before, after := at-1, at+1
	for before >= 0 && isCaseIgnorable(runes[before]) {
		before--
	}
	for after < len(runes) && isCaseIgnorable(runes[after]) {
		after++
	}
	return before >= 0 && isCased(runes[before]) && (after == len(runes) || !isCased(runes[after]))
}

func isCased(r rune) bool {
	return unicode.In(r, unicode.Lu, unicode.Ll, unicode.Lt,
		unicode.Other_Lowercase, unicode.Other_Uppercase)
}

func isCaseIgnorable(r rune) bool {
	const wordMiddle = "'.:\u00b7\u0387\u055f\u05f4\u2018\u2019\u2024\u2027\ufe13\ufe52\ufe55" +
		"\uff07\uff0e\uff1a"
	return strings.ContainsRune(wordMiddle, r) ||
		unicode.In(r, unicode.Mn, unicode.Me, unicode.Cf, unicode.Lm, unicode.Sk)
}

// isSpace is that of ECMAScript, which the service uses: with the byte order mark, without NEL.
func isSpace(r rune) bool {
	switch r {
	case '\t', '\n', '\v', '\f', '\r', '\u2028', '\u2029', '\ufeff':
		return true
	}
	return unicode.Is(unicode.Zs, r)
}

func trimSpace(text string) string { return strings.TrimFunc(text, isSpace) }

func utf16Length(text string) int {
	length := 0
	for _, r := range text {
		length++
		if r > 0xffff {
			length++
		}
	}
	return length
}
