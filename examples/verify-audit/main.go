// Verifies an exported audit log with public means: SHA-256 and the Ed25519 keys that the
// installation publishes. Usage: go run . EXPORT.ndjson JWKS.json
package main

import (
	"bufio"
	"bytes"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"reflect"
	"strings"
)

type receipt struct {
	Digest   string         `json:"document_sha256"`
	Change   map[string]any `json:"change"`
	Document string         `json:"document"`
}

type entry struct {
	Workspace int64     `json:"workspace_id"`
	Sequence  int64     `json:"sequence"`
	Previous  string    `json:"previous_hash"`
	Hash      string    `json:"hash"`
	Body      string    `json:"body"` // canonical JSON (RFC 8785); Hash is its SHA-256
	Receipts  []receipt `json:"receipts"`
}

func main() {
	if len(os.Args) != 3 {
		fail("usage: verify-audit EXPORT.ndjson JWKS.json")
	}
	file, err := os.Open(os.Args[1])
	check(err)
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, 64<<20)
	last, receipts := entry{Hash: strings.Repeat("0", 64)}, 0
	for lines.Scan() {
		if bytes.Contains(lines.Bytes(), []byte(`"jws":`)) && !bytes.Contains(lines.Bytes(), []byte(`"body":`)) {
			verifyHead(lines.Bytes(), last)
			if lines.Scan() {
				fail("a line follows the head")
			}
			fmt.Printf("%d entries and %d receipts are intact, and the head is signed.\n", last.Sequence, receipts)
			return
		}
		last = verifyEntry(lines.Bytes(), last)
		receipts += len(last.Receipts)
	}
	fail("the export has no head")
}

func verifyEntry(text []byte, last entry) entry {
	var next entry
	strict := json.NewDecoder(bytes.NewReader(text))
	strict.DisallowUnknownFields()
	check(strict.Decode(&next))
	var body struct {
		entry
		Details struct {
			Receipt string `json:"document_sha256"`
		} `json:"details"`
	}
	check(json.Unmarshal([]byte(next.Body), &body))
	isNext := next.Sequence == last.Sequence+1 && next.Previous == last.Hash
	isSame := body.Workspace == next.Workspace && body.Sequence == next.Sequence && body.Previous == next.Previous
	if digest(next.Body) != next.Hash || !isNext || !isSame {
		fail("entry %d was changed", last.Sequence+1)
	}
	if (body.Details.Receipt == "") != (len(next.Receipts) == 0) {
		fail("the receipt of entry %d is missing", next.Sequence)
	}
	for _, found := range next.Receipts {
		var document map[string]any
		check(json.Unmarshal([]byte(found.Document), &document))
		isReceipt := digest(found.Document) == found.Digest && found.Digest == body.Details.Receipt
		for name, value := range found.Change {
			same, isMember := document[name]
			isReceipt = isReceipt && isMember && reflect.DeepEqual(same, value)
		}
		if !isReceipt {
			fail("the receipt of entry %d was changed", next.Sequence)
		}
	}
	return next
}

// verifyHead checks a compact JWS (RFC 7515), whose payload is the rest of the line.
func verifyHead(text []byte, last entry) {
	var head map[string]any
	check(json.Unmarshal(text, &head))
	parts := strings.Split(fmt.Sprint(head["jws"]), ".")
	delete(head, "jws")
	if len(parts) != 3 {
		fail("the head has no signature")
	}
	var header struct{ Alg, Kid, Typ string }
	var payload map[string]any
	check(json.Unmarshal(decode(parts[0]), &header))
	check(json.Unmarshal(decode(parts[1]), &payload))
	isLast := fmt.Sprint(head["sequence"]) == fmt.Sprint(float64(last.Sequence)) && head["hash"] == last.Hash &&
		(last.Sequence == 0 || fmt.Sprint(head["workspace_id"]) == fmt.Sprint(float64(last.Workspace)))
	if !isLast || !reflect.DeepEqual(head, payload) || header.Typ != "signalbox-audit-head" || header.Alg != "EdDSA" {
		fail("the head is not that of the last entry")
	}
	if !ed25519.Verify(publicKey(header.Kid), []byte(parts[0]+"."+parts[1]), decode(parts[2])) {
		fail("the signature of the head is invalid")
	}
}

func publicKey(kid string) ed25519.PublicKey {
	var set struct {
		Keys []struct{ Kid, X, Crv string }
	}
	text, err := os.ReadFile(os.Args[2])
	check(err)
	check(json.Unmarshal(text, &set))
	for _, key := range set.Keys {
		if x := decode(key.X); key.Kid == kid && key.Crv == "Ed25519" && len(x) == ed25519.PublicKeySize {
			return x
		}
	}
	fail("the key set has no key %s", kid)
	return nil
}

func digest(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

func decode(text string) []byte {
	decoded, err := base64.RawURLEncoding.Strict().DecodeString(text)
	check(err)
	return decoded
}

func check(err error) {
	if err != nil {
		fail("%v", err)
	}
}

func fail(format string, values ...any) {
	fmt.Fprintf(os.Stderr, format+"\n", values...)
	os.Exit(1)
}
