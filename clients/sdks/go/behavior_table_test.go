//go:build go1.25

package signalbox

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"strings"
	"testing"
	"time"
)

// object is a part of the table, which clients/sdks/README.md describes.
type object = map[string]any

// readTable returns the cases with their fixtures in place and their clients merged.
func readTable(t *testing.T) (cases []object, now time.Time) {
	text, err := os.ReadFile("../behavior.json")
	if err != nil {
		t.Skip("the table of cases is not part of the module:", err)
	}
	var table struct {
		Defaults struct {
			Client object
			Now    time.Time
			Random float64
		}
		Fixtures object
		Cases    []object
	}
	if err := json.Unmarshal(text, &table); err != nil {
		t.Fatal(err)
	}
	for _, one := range table.Cases {
		resolved := object{"random": table.Defaults.Random}
		maps.Copy(resolved, resolveFixtures(one, table.Fixtures).(object))
		client := maps.Clone(table.Defaults.Client)
		maps.Copy(client, part[object](resolved, "client"))
		resolved["client"] = client
		cases = append(cases, resolved)
	}
	return cases, table.Defaults.Now
}

// resolveFixtures copies a value. A text that starts with @ stands for the fixture of that name,
// and $text for so many letters.
func resolveFixtures(value any, fixtures object) any {
	switch value := value.(type) {
	case string:
		if name, isFixture := strings.CutPrefix(value, "@"); isFixture {
			fixture, isKnown := fixtures[name]
			if !isKnown {
				panic("there is no fixture " + value)
			}
			return resolveFixtures(fixture, fixtures)
		}
	case []any:
		copied := make([]any, len(value))
		for at, item := range value {
			copied[at] = resolveFixtures(item, fixtures)
		}
		return copied
	case object:
		if length := part[float64](value, "$text"); length > 0 {
			return strings.Repeat("a", int(length))
		}
		copied := object{}
		for name, item := range value {
			copied[name] = resolveFixtures(item, fixtures)
		}
		return copied
	}
	return value
}

// part returns a member, and the zero value when it is missing or null.
func part[T any](of any, name string) T {
	var zero T
	members, isObject := of.(object)
	if !isObject || members[name] == nil {
		return zero
	}
	value, isOfType := members[name].(T)
	if !isOfType {
		panic(fmt.Sprintf("%s is %T", name, members[name]))
	}
	return value
}

func has(of any, name string) bool {
	_, isMember := of.(object)[name]
	return isMember
}

// milliseconds returns a member that is a duration.
func milliseconds(of any, name string) time.Duration {
	return time.Duration(part[float64](of, name)) * time.Millisecond
}

// convert makes a value of a type from JSON, or JSON from a value.
func convert[T any](t *testing.T, value any) T {
	t.Helper()
	text, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	var converted T
	if err := json.Unmarshal(text, &converted); err != nil {
		t.Fatal(err)
	}
	return converted
}
