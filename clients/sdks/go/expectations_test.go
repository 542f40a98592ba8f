//go:build go1.25

package signalbox

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"reflect"
	"regexp"
	"strings"
	"testing"
)

// expectations compare what happened with what a case expects. $same binds a text within one case.
type expectations struct {
	t     *testing.T
	bound map[string]string
}

// contains takes objects that have more members than expected.
func (e *expectations) contains(actual, expected any, place string) {
	e.t.Helper()
	switch expected := expected.(type) {
	case object:
		if e.isSpecial(actual, expected, place) {
			return
		}
		members, isObject := actual.(object)
		if !isObject {
			e.t.Errorf("%s is %v", place, actual)
			return
		}
		for name, value := range expected {
			actual, isMember := members[name]
			if !isMember {
				actual = missing{}
			}
			e.contains(actual, value, place+"."+name)
		}
	case []any:
		items, isList := actual.([]any)
		if !isList || len(items) != len(expected) {
			e.t.Errorf("%s is %v and not %v", place, actual, expected)
			return
		}
		for at, value := range expected {
			e.contains(items[at], value, fmt.Sprintf("%s[%d]", place, at))
		}
	default:
		if !reflect.DeepEqual(actual, expected) {
			e.t.Errorf("%s is %#v and not %#v", place, actual, expected)
		}
	}
}

type missing struct{}

// equals takes objects that have exactly the members that are expected.
func (e *expectations) equals(actual, expected any, place string) {
	e.t.Helper()
	e.contains(actual, expected, place)
	members, isObject := expected.(object)
	own, isOwn := actual.(object)
	if !isObject || !isOwn {
		return
	}
	for name, value := range own {
		if expected, isMember := members[name]; isMember {
			e.equals(value, expected, place+"."+name)
		} else {
			e.t.Errorf("%s.%s is not expected: %v", place, name, value)
		}
	}
}

// isSpecial says whether the expectation has a special meaning, which is then checked.
func (e *expectations) isSpecial(actual any, expected object, place string) bool {
	e.t.Helper()
	if expected["$absent"] == true {
		if actual != (missing{}) {
			e.t.Errorf("%s is %v and not absent", place, actual)
		}
	} else if pattern, isPattern := expected["$matches"].(string); isPattern {
		if !regexp.MustCompile(pattern).MatchString(fmt.Sprint(actual)) {
			e.t.Errorf("%s is %v and does not match %s", place, actual, pattern)
		}
	} else if bounds, isRange := expected["$between"].([]any); isRange {
		number, isNumber := actual.(float64)
		if !isNumber || number < bounds[0].(float64) || number > bounds[1].(float64) {
			e.t.Errorf("%s is %v and not between %v", place, actual, bounds)
		}
	} else if name, isSame := expected["$same"].(string); isSame {
		text, isText := actual.(string)
		if before, isBound := e.bound[name]; !isText || isBound && before != text {
			e.t.Errorf("%s is %v and not %v", place, actual, before)
		}
		e.bound[name] = text
	} else {
		return false
	}
	return true
}

// assertPrintsNone fails when a form in which a value is printed has a secret.
func assertPrintsNone(t *testing.T, secrets []string, value any) {
	t.Helper()
	for _, form := range printedForms(value) {
		for _, secret := range secrets {
			if secret != "" && strings.Contains(form, secret) {
				t.Errorf("a printed form of %T has %s: %.300s", value, secret, form)
			}
		}
	}
}

func printedForms(value any) []string {
	forms := []string{
		fmt.Sprint(value), fmt.Sprintf("%+v", value), fmt.Sprintf("%#v", value),
		fmt.Sprintf("%s", value), fmt.Sprintf("%q", value), fmt.Sprintf("%x", value),
	}
	if text, err := json.Marshal(value); err == nil {
		forms = append(forms, string(text))
	}
	var logged strings.Builder
	slog.New(slog.NewTextHandler(&logged, nil)).Info("text", "value", value)
	slog.New(slog.NewJSONHandler(&logged, nil)).Info("json", "value", value)
	forms = append(forms, logged.String())
	if err, isError := value.(error); isError {
		forms = append(forms, formsOfCauses(err)...)
	}
	return appendTexts(forms, reflect.ValueOf(value), 0)
}

func formsOfCauses(err error) []string {
	var causes []error
	switch wrapper := err.(type) {
	case interface{ Unwrap() error }:
		causes = []error{wrapper.Unwrap()}
	case interface{ Unwrap() []error }:
		causes = wrapper.Unwrap()
	}
	var forms []string
	for _, cause := range causes {
		if cause != nil {
			forms = append(forms, printedForms(cause)...)
		}
	}
	return forms
}

// appendTexts collects every text that a printer finds which follows pointers into members that are
// not exported, as debuggers and some libraries do.
func appendTexts(texts []string, value reflect.Value, depth int) []string {
	if depth > 20 || !value.IsValid() || value.Type() == reflect.TypeFor[*http.Client]() {
		return texts
	}
	switch value.Kind() {
	case reflect.String:
		return append(texts, value.String())
	case reflect.Pointer, reflect.Interface:
		return appendTexts(texts, value.Elem(), depth+1)
	case reflect.Struct:
		for at := range value.NumField() {
			texts = appendTexts(texts, value.Field(at), depth+1)
		}
	case reflect.Slice, reflect.Array:
		if value.Type().Elem().Kind() == reflect.Uint8 && value.Kind() == reflect.Slice {
			return append(texts, string(value.Bytes()))
		}
		for at := range value.Len() {
			texts = appendTexts(texts, value.Index(at), depth+1)
		}
	case reflect.Map:
		for _, key := range value.MapKeys() {
			texts = appendTexts(texts, key, depth+1)
			texts = appendTexts(texts, value.MapIndex(key), depth+1)
		}
	}
	return texts
}
