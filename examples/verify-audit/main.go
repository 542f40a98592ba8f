// Verifies an exported audit log with public means: SHA-256 and the Ed25519 keys that the
// installation publishes. Usage: go run . EXPORT.ndjson JWKS.json
package main

import (
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"log"
	"os"
	"reflect"
	"strings"
)

// object is a JSON object whose values are compared as they are written.
type object = map[string]json.RawMessage

func main() {
	log.SetFlags(0)
	require(len(os.Args) == 3, "usage: verify-audit EXPORT.ndjson JWKS.json")
	lines := strings.Split(strings.TrimSuffix(string(must(os.ReadFile(os.Args[1]))), "\n"), "\n")
	entries, head := lines[:len(lines)-1], lines[len(lines)-1]
	last, total := object{"sequence": []byte("0"), "hash": fmt.Appendf(nil, `"%064d"`, 0)}, 0
	for index, line := range entries {
		entry, count := verifyEntry(line, last, index+1)
		last, total = entry, total+count
	}
	verifyHead(parse[object](head), last)
	fmt.Printf("%d entries and %d receipts are intact, and the head is signed.\n", len(entries), total)
}

// verifyEntry recomputes the hash of an entry's canonical text (RFC 8785), which has the hash of
// the entry before it, and the digests of its receipts. It returns the number of receipts.
func verifyEntry(line string, last object, sequence int) (object, int) {
	entry, receipts := parse[object](line), parse[struct{ Receipts []object }](line).Receipts
	require(entry["jws"] == nil, "a line follows the head")
	text := parse[string](entry["body"])
	body, isNext := parse[object](text), string(entry["sequence"]) == fmt.Sprint(sequence)
	require(isNext && string(entry["hash"]) == digest(text), "entry %d was changed", sequence)
	require(string(entry["previous_hash"]) == string(last["hash"]), "entry %d is not next", sequence)
	for name, value := range entry {
		isBeside := name == "body" || name == "hash" || name == "receipts"
		require(isBeside || string(body[name]) == string(value), "entry %d was changed", sequence)
	}
	want := string(parse[object](body["details"])["document_sha256"])
	require((want == "") == (len(receipts) == 0), "the receipt of entry %d is missing", sequence)
	for _, receipt := range receipts {
		text := parse[string](receipt["document"])
		isDocument := want == digest(text) && want == string(receipt["document_sha256"])
		require(isDocument && len(receipt) == 3, "the receipt of entry %d was changed", sequence)
		document := parse[object](text)
		for name, value := range parse[object](receipt["change"]) {
			require(string(document[name]) == string(value), "entry %d: another change", sequence)
		}
	}
	return entry, len(receipts)
}

// verifyHead checks a compact JWS (RFC 7515), whose payload is the rest of the line.
func verifyHead(head, last object) {
	parts := strings.Split(parse[string](head["jws"]), ".")
	require(len(parts) == 3, "the head has no signature")
	delete(head, "jws")
	header, payload := parse[object](decode(parts[0])), parse[object](decode(parts[1]))
	isHead := string(header["typ"]) == `"signalbox-audit-head"` && string(header["alg"]) == `"EdDSA"`
	require(isHead && reflect.DeepEqual(head, payload), "the head was changed")
	isLast := string(head["sequence"]) == string(last["sequence"])
	isLast = isLast && string(head["hash"]) == string(last["hash"])
	require(isLast, "the head is not that of the last entry")
	isSigned, signed := false, []byte(parts[0]+"."+parts[1])
	for _, key := range parse[map[string][]object](must(os.ReadFile(os.Args[2])))["keys"] {
		if string(key["kid"]) == string(header["kid"]) && string(key["crv"]) == `"Ed25519"` {
			public := decode(parse[string](key["x"]))
			isSigned = len(public) == 32 && ed25519.Verify(public, signed, decode(parts[2]))
		}
	}
	require(isSigned, "no key of the key set signed the head")
}

func digest(text string) string { return fmt.Sprintf(`"%x"`, sha256.Sum256([]byte(text))) }

func decode(text string) []byte { return must(base64.RawURLEncoding.Strict().DecodeString(text)) }

func parse[T any, Text string | []byte | json.RawMessage](text Text) T {
	value := new(T)
	return *must(value, json.Unmarshal([]byte(text), value))
}

func must[T any](value T, err error) T {
	require(err == nil, "%v", err)
	return value
}

func require(isTrue bool, format string, values ...any) {
	if !isTrue {
		log.Fatalf(format, values...)
	}
}
