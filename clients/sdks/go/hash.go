package signalbox

import (
	"crypto/sha256"
	"encoding/hex"
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"
)

// HashEmail returns the SHA-256 of a normalized email address by the rules of the service, so that
// the raw address stays with you. A digest is returned as it is, in lower case.
//
// As with the other Hash functions, false says that a value cannot be normalized for certain: leave
// it out, or send it raw and let the service, which knows every numbering plan, decide.
func HashEmail(text string) (digest string, ok bool) {
	return digestUnless(text, func() (string, bool) {
		prepared := normalizeIdentifier(text)
		at := strings.LastIndexByte(prepared, '@')
		return prepared, at > 0 && utf16Length(prepared) <= 254 &&
			isLocalPart(prepared[:at]) && domainPattern.MatchString(prepared[at+1:])
	})
}

// HashPhone returns the SHA-256 of a phone number in international form, with + or 00, or of eleven
// digits with 1.
func HashPhone(text string) (digest string, ok bool) {
	return digestUnless(text, func() (string, bool) {
		return normalizePhone(normalizeIdentifier(text))
	})
}

// HashExternalID returns the SHA-256 of your own ID of a person: without its white space, in lower
// case.
func HashExternalID(text string) (digest string, ok bool) {
	return digestUnless(text, func() (string, bool) {
		prepared := toLower(trimSpace(composeCanonical(removeInvisible(text))))
		return removeRunes(prepared, isSpace), prepared != "" && !isPlaceholder(prepared)
	})
}

// placeholders are what a variable leaves that was never filled: it would make one person of many.
var placeholders = []string{
	"undefined", "[object object]", "(not set)", "-", "null", "none", "nan", "n/a", "nil",
	"(null)", "(none)", "#n/a", "not set", "unknown", "(unknown)", "(not provided)", "(empty)",
	`n\a`, "true", "false", "guest", "anonymous", "0", "00000000-0000-0000-0000-000000000000",
}

var unfilledPattern = regexp.MustCompile(
	`^(?s:\[object \w+\]|[!-/:-@\[-\x60{-~\x{2010}-\x{2015}]+|\{\{.*\}\}|[$#]\{.*\}|<%.*%>|%%.*%%|%[a-z_. ]+%|` +
		`\[\[.*\]\]|\*\|.*\|\*|__[a-z_]+__|\{[a-z_. ]+\}|<[a-z_. ]+>|\[[a-z_. ]+\])$`)

func isPlaceholder(prepared string) bool {
	return slices.Contains(placeholders, prepared) || unfilledPattern.MatchString(prepared)
}

// nobodysDigests are those of nothing and of placeholders, as programs write them.
var nobodysDigests = sync.OnceValue(func() map[string]bool {
	texts := []string{"", "NaN", "[object Object]", "{{name}}", "{{email}}", "{{phone}}", "{{user_id}}"}
	for _, text := range placeholders {
		capitalized := strings.ToUpper(text[:1]) + text[1:]
		texts = append(texts, text, strings.ToUpper(text), capitalized)
	}
	digests := map[string]bool{strings.Repeat("0", 64): true}
	for _, text := range texts {
		digests[sha256Hex(text)] = true
	}
	return digests
})

func sha256Hex(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

// invisible has what Unicode lets a program ignore (Default_Ignorable_Code_Point), as ranges. It
// comes with copied text.
var invisible = &unicode.RangeTable{
	R16: []unicode.Range16{
		{Lo: 0x00ad, Hi: 0x00ad, Stride: 1}, {Lo: 0x034f, Hi: 0x034f, Stride: 1},
		{Lo: 0x061c, Hi: 0x061c, Stride: 1}, {Lo: 0x115f, Hi: 0x1160, Stride: 1},
		{Lo: 0x17b4, Hi: 0x17b5, Stride: 1}, {Lo: 0x180b, Hi: 0x180f, Stride: 1},
		{Lo: 0x200b, Hi: 0x200f, Stride: 1}, {Lo: 0x202a, Hi: 0x202e, Stride: 1},
		{Lo: 0x2060, Hi: 0x206f, Stride: 1}, {Lo: 0x3164, Hi: 0x3164, Stride: 1},
		{Lo: 0xfe00, Hi: 0xfe0f, Stride: 1}, {Lo: 0xfeff, Hi: 0xfeff, Stride: 1},
		{Lo: 0xffa0, Hi: 0xffa0, Stride: 1}, {Lo: 0xfff0, Hi: 0xfff8, Stride: 1},
	},
	R32: []unicode.Range32{
		{Lo: 0x1bca0, Hi: 0x1bca3, Stride: 1}, {Lo: 0x1d173, Hi: 0x1d17a, Stride: 1},
		{Lo: 0xe0000, Hi: 0xe0fff, Stride: 1},
	},
}

func removeInvisible(text string) string {
	return removeRunes(text, func(r rune) bool { return unicode.Is(invisible, r) })
}

func removeRunes(text string, isRemoved func(rune) bool) string {
	return strings.Map(func(r rune) rune {
		if isRemoved(r) {
			return -1
		}
		return r
	}, text)
}

var (
	suppliedPattern = regexp.MustCompile(
		`^([0-9a-fA-F]{64})(?:\.(?:[0-9A-Za-z_-]{8}|[aA][qQgGwW]|[bB][aAqQgG]))?$`)
	domainPattern = regexp.MustCompile(`^(?:[\p{L}\p{M}\p{N}_-]+\.)+[\p{L}\p{M}\p{N}-]{2,}$`)
)

const utf16UnitsMax = 512

func digestUnless(text string, normalize func() (string, bool)) (string, bool) {
	if !utf8.ValidString(text) || utf16Length(text) > utf16UnitsMax {
		return "", false
	}
	visible := removeInvisible(text)
	if supplied := suppliedPattern.FindStringSubmatch(trimSpace(visible)); supplied != nil {
		digest := strings.ToLower(supplied[1])
		if nobodysDigests()[digest] {
			return "", false
		}
		return digest, true
	}
	normalized, ok := normalize()
	if !ok || strings.ContainsFunc(visible, isUnknown) {
		return "", false
	}
	return sha256Hex(normalized), true
}

// isLocalPart takes quoted text, or text without what an address must quote.
func isLocalPart(text string) bool {
	forbidden := `@"<>()[]:;,\`
	if len(text) > 2 && strings.HasPrefix(text, `"`) && strings.HasSuffix(text, `"`) {
		text, forbidden = text[1:len(text)-1], `"`
	}
	isForbidden := func(r rune) bool {
		return isSpace(r) || strings.ContainsRune(forbidden, r) || !isAssigned(r)
	}
	return text != "" && !strings.ContainsFunc(text, isForbidden)
}

// isAssigned says whether a character is a letter, mark, number, punctuation, symbol or separator,
// and not a control, private or unassigned one.
func isAssigned(r rune) bool {
	return unicode.In(r, unicode.L, unicode.M, unicode.N, unicode.P, unicode.S, unicode.Z)
}

// isUnknown says whether a character is newer than the Unicode version of package unicode, which
// then does not know its lower case.
func isUnknown(r rune) bool {
	// Since Go 1.25, unicode.C has unassigned characters too.
	return !isAssigned(r) && !unicode.In(r, unicode.Cc, unicode.Cf, unicode.Co, unicode.Cs)
}

// normalizeIdentifier is NFKC, except for accents on their own, before which it would put a space.
func normalizeIdentifier(text string) string {
	text = removeInvisible(text)
	var normalized strings.Builder
	for text != "" {
		end := strings.IndexFunc(text, isModifierSymbol)
		if end == 0 {
			end = len(text) - len(strings.TrimLeftFunc(text, isModifierSymbol))
			normalized.WriteString(text[:end])
		} else {
			if end < 0 {
				end = len(text)
			}
			normalized.WriteString(composeCompatible(text[:end]))
		}
		text = text[end:]
	}
	return toLower(trimSpace(normalized.String()))
}

func isModifierSymbol(r rune) bool { return unicode.Is(unicode.Sk, r) }

var (
	callingCodePattern = regexp.MustCompile(
		`^(?:1|7|2[07]|3[0-469]|4[013-9]|5[1-8]|6[0-6]|8[1246]|9[0-58]|[0-9]{3})`)
	northAmericanPattern = regexp.MustCompile(`^1[2-9][0-9]{2}[2-9][0-9]{6}$`)
	// keepsZero has countries whose national numbers begin with 0 in international form too.
	keepsZero = strings.Fields("39 225 241 242 378")
	// dropsZero has countries where a 0 is dialed before a national number, and only there.
	dropsZero = strings.Fields("20 27 31 32 33 40 41 43 44 46 49 61 62 63 64 66 81 82 84 90 91 92 94")
)

// normalizePhone returns the digits with the calling code, and false unless the result is the same
// for the service.
func normalizePhone(text string) (string, bool) {
	number := strings.TrimPrefix(text, "tel:")
	if after, isPrefixed := strings.CutPrefix(number, "00"); isPrefixed {
		number = "+" + after
	}
	rest, isInternational := strings.CutPrefix(number, "+")
	digits := strings.Map(keepDigit, rest)
	if rest == "" || strings.ContainsFunc(rest, isForeignToPhone) {
		return "", false
	}
	if !isInternational {
		return digits, northAmericanPattern.MatchString(digits)
	}
	code := callingCodePattern.FindString(digits)
	isWhole := code != "" && len(digits) >= 8 && len(digits) <= 15
	if !isWhole || code == "1" && !northAmericanPattern.MatchString(digits) {
		return "", false
	}
	national := digits[len(code):]
	if !strings.HasPrefix(national, "0") || slices.Contains(keepsZero, code) {
		return digits, true
	}
	return code + national[1:], slices.Contains(dropsZero, code) && !strings.HasPrefix(national, "00")
}

func keepDigit(r rune) rune {
	if r >= '0' && r <= '9' {
		return r
	}
	return -1
}

func isForeignToPhone(r rune) bool {
	return keepDigit(r) < 0 && !isSpace(r) && !strings.ContainsRune("().-", r)
}
