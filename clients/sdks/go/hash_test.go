package signalbox

import (
	"encoding/json"
	"os"
	"strings"
	"testing"
)

var hashHelpers = map[string]func(string) (string, bool){
	"email":       HashEmail,
	"phone":       HashPhone,
	"external_id": HashExternalID,
}

type hashVector struct {
	Helper string
	Input  string
	SHA256 *string
}

func TestHashVectors(t *testing.T) { checkHashVectors(t, "../hash-vectors.json") }

// TestMoreHashVectors compares the digests with those of a file that another language wrote.
func TestMoreHashVectors(t *testing.T) {
	path := os.Getenv("SIGNALBOX_HASH_VECTORS")
	if path == "" {
		t.Skip("SIGNALBOX_HASH_VECTORS names no file")
	}
	checkHashVectors(t, path)
}

func checkHashVectors(t *testing.T, path string) {
	text, err := os.ReadFile(path)
	if err != nil {
		t.Skip("the vectors are not part of the module:", err)
	}
	var vectors []hashVector
	if err := json.Unmarshal(text, &vectors); err != nil {
		t.Fatal(err)
	}
	for _, vector := range vectors {
		digest, ok := hashHelpers[vector.Helper](vector.Input)
		if !ok && strings.ContainsFunc(vector.Input, isUnknown) {
			continue
		}
		if ok != (vector.SHA256 != nil) || ok && digest != *vector.SHA256 {
			t.Errorf("%s %+q: %s %v", vector.Helper, vector.Input, digest, ok)
		}
	}
}
