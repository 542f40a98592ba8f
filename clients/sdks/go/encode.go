package signalbox

import (
	"encoding"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/big"
	"reflect"
	"strings"
	"time"
)

const (
	// integerMax: readers of JSON hold a larger number as another one.
	integerMax = 1<<53 - 1
	// depthMax is far above what the API takes. A cycle ends there.
	depthMax = 1_000
)

// encodeBody returns a body as JSON. Its error is ErrInvalidArgument and has no part of the body.
//
// encoding/json writes a time with the zone and the nanoseconds that it has, which the API does not
// take, a set as an object, and whole numbers of any size. In the free-form members of a body,
// times become UTC with milliseconds, and the others are refused, as NaN and cycles are.
func encodeBody(body any) ([]byte, error) {
	if text, isText := body.(json.RawMessage); isText {
		return text, nil
	}
	value := reflect.ValueOf(body)
	for value.Kind() == reflect.Pointer && !value.IsNil() {
		value = value.Elem()
	}
	if value.Kind() == reflect.Struct {
		own, err := plainStruct(value)
		if err != nil {
			return nil, err
		}
		value = own
	}
	encoded, err := json.Marshal(value.Interface())
	if errors.Is(err, ErrInvalidArgument) {
		return nil, errors.Unwrap(err)
	}
	if err != nil {
		// The text of the error may have a part of the body.
		return nil, cannotBeJSON(fmt.Sprintf("a value that fails (%T)", err))
	}
	return encoded, nil
}

func cannotBeJSON(kind string) error {
	return fmt.Errorf("%w: the body cannot be JSON: it has %s", ErrInvalidArgument, kind)
}

// plainStruct copies a type of this package, with its free-form members as plain values.
func plainStruct(value reflect.Value) (reflect.Value, error) {
	own := reflect.New(value.Type()).Elem()
	own.Set(value)
	for at := range value.NumField() {
		field := own.Field(at)
		if !field.CanSet() {
			continue
		}
		changed, err := plainField(field)
		if err != nil {
			return own, err
		}
		field.Set(changed)
	}
	return own, nil
}

func plainField(field reflect.Value) (reflect.Value, error) {
	switch kind := field.Kind(); {
	case kind == reflect.Pointer && !field.IsNil() && field.Elem().Kind() == reflect.Struct:
		own, err := plainStruct(field.Elem())
		if err != nil {
			return field, err
		}
		pointer := reflect.New(own.Type())
		pointer.Elem().Set(own)
		return pointer, nil
	case field.IsZero() || !holdsAny(field.Type()):
		return field, nil
	}
	plain, err := plainValue(field, 0)
	if err != nil || plain == nil {
		return field, err
	}
	return reflect.ValueOf(plain), nil
}

// holdsAny says whether a member is free-form: any, a map of it, or a list of it.
func holdsAny(of reflect.Type) bool {
	if of.Kind() == reflect.Map || of.Kind() == reflect.Slice {
		of = of.Elem()
	}
	return of.Kind() == reflect.Interface
}

// plainValue returns what JSON can hold: maps and slices of any, text, numbers, and values that
// write themselves.
func plainValue(value reflect.Value, depth int) (any, error) {
	for value.Kind() == reflect.Interface {
		value = value.Elem()
	}
	if !value.IsValid() {
		return nil, nil
	}
	if depth > depthMax {
		return nil, cannotBeJSON("a cycle, or is nested too deep")
	}
	if plain, isKnown, err := plainKnown(value.Interface()); isKnown || err != nil {
		return plain, err
	}
	if isMarshaler(value.Type()) {
		return value.Interface(), nil
	}
	switch value.Kind() {
	case reflect.Pointer:
		if value.IsNil() {
			return nil, nil
		}
		return plainValue(value.Elem(), depth+1)
	case reflect.Map:
		return plainMap(value, depth)
	case reflect.Slice, reflect.Array:
		return plainList(value, depth)
	case reflect.Float32, reflect.Float64:
		if number := value.Float(); math.IsNaN(number) || math.IsInf(number, 0) {
			return nil, cannotBeJSON(fmt.Sprint(number))
		}
	case reflect.Func, reflect.Chan, reflect.Complex64, reflect.Complex128, reflect.UnsafePointer:
		return nil, cannotBeJSON("a " + value.Kind().String())
	}
	if isLarge(value) {
		return nil, cannotBeJSON("a whole number above 2^53 - 1")
	}
	return value.Interface(), nil
}

// plainKnown converts what writes itself in a form that the API does not take.
func plainKnown(value any) (plain any, isKnown bool, err error) {
	switch value := value.(type) {
	case *time.Time:
		if value == nil {
			return nil, true, nil
		}
		return plainKnown(*value)
	case time.Time:
		plain, err := EventTime{value}.format("a time")
		if err != nil {
			err = cannotBeJSON("a time that cannot be sent")
		}
		return plain, true, err
	case *big.Int:
		if value != nil && (!value.IsInt64() || isLarge(reflect.ValueOf(value.Int64()))) {
			return nil, true, cannotBeJSON("a whole number above 2^53 - 1")
		}
		return value, true, nil
	case json.Number:
		whole, isWhole := new(big.Int).SetString(strings.TrimSpace(value.String()), 10)
		if isWhole {
			_, _, err = plainKnown(whole)
		}
		return value, true, err
	}
	return nil, false, nil
}

func isLarge(value reflect.Value) bool {
	switch {
	case value.CanInt():
		return value.Int() > integerMax || value.Int() < -integerMax
	case value.CanUint():
		return value.Uint() > integerMax
	}
	return false
}

func plainMap(value reflect.Value, depth int) (any, error) {
	element := value.Type().Elem()
	if element.Kind() == reflect.Struct && element.NumField() == 0 {
		return nil, cannotBeJSON("a set")
	}
	if value.IsNil() {
		return nil, nil
	}
	if value.Type().Key().Kind() != reflect.String {
		return nil, cannotBeJSON("a map whose keys are no text")
	}
	plain := make(map[string]any, value.Len())
	for members := value.MapRange(); members.Next(); {
		member, err := plainValue(members.Value(), depth+1)
		if err != nil {
			return nil, err
		}
		plain[members.Key().String()] = member
	}
	return plain, nil
}

func plainList(value reflect.Value, depth int) (any, error) {
	if value.Kind() == reflect.Slice && value.IsNil() {
		return nil, nil
	}
	// encoding/json writes bytes as base64.
	if value.Type().Elem().Kind() == reflect.Uint8 {
		return value.Interface(), nil
	}
	plain := make([]any, value.Len())
	for at := range plain {
		item, err := plainValue(value.Index(at), depth+1)
		if err != nil {
			return nil, err
		}
		plain[at] = item
	}
	return plain, nil
}

var (
	jsonMarshaler = reflect.TypeFor[json.Marshaler]()
	textMarshaler = reflect.TypeFor[encoding.TextMarshaler]()
)

// isMarshaler says whether values of a type write themselves.
func isMarshaler(of reflect.Type) bool {
	return of.Implements(jsonMarshaler) || of.Implements(textMarshaler)
}
