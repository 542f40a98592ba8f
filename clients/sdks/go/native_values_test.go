//go:build go1.25

package signalbox

import (
	"math"
	"math/big"
	"time"
)

// setNativeValues replaces {"$time": text} by a time and {"$native": kind} by a value that JSON
// does not have, in the free-form members of an event.
func setNativeValues(event *EventSubmission) {
	for _, member := range []*FreeFormObject{&event.Consent, &event.UserData} {
		*member, _ = toNative(*member).(object)
	}
	if event.ValueData != nil {
		event.ValueData.Contents, _ = toNative(event.ValueData.Contents).([]any)
	}
}

var nativeValues = map[string]func() any{
	"cycle": func() any {
		cycle := object{}
		cycle["again"] = cycle
		return cycle
	},
	"nan":           func() any { return math.NaN() },
	"infinity":      func() any { return math.Inf(1) },
	"large_integer": func() any { return new(big.Int).Lsh(big.NewInt(1), 64) },
	"set":           func() any { return map[string]struct{}{"a": {}} },
	"function":      func() any { return func() {} },
	"invalid_time":  func() any { return time.Time{} },
}

func toNative(value any) any {
	switch value := value.(type) {
	case []any:
		for at, item := range value {
			value[at] = toNative(item)
		}
	case object:
		if kind, isNative := value["$native"].(string); isNative {
			return nativeValues[kind]()
		}
		if text, isTime := value["$time"].(string); isTime {
			parsed, err := time.Parse(time.RFC3339Nano, text)
			if err != nil {
				panic(err)
			}
			return parsed
		}
		for name, member := range value {
			value[name] = toNative(member)
		}
	}
	return value
}

func toSignal(given any) ConsentSignal {
	switch given := given.(type) {
	case bool:
		return GrantedIf(given)
	case string:
		return ConsentSignal(given)
	}
	return ""
}
