package signalbox

import (
	"crypto/rand"
	"encoding/json"
	"fmt"
	"time"
)

// CreatedEvent is the answer to an event. Duplicate says that the tracker already has an event with
// this ID: nothing was counted twice.
type CreatedEvent = NewEvent

// preparedEvent is an event that has an ID, so that a retry does not count it twice. Its body is
// JSON already: later changes of the caller's maps and lists do not reach it.
type preparedEvent struct {
	id          string
	body        json.RawMessage
	isGenerated bool
}

// prepareEvent refuses an event that cannot be sent. The event of the caller is not changed.
func prepareEvent(event EventSubmission) (preparedEvent, error) {
	if event.EventTime != nil {
		if _, err := event.EventTime.format("event_time"); err != nil {
			return preparedEvent{}, err
		}
	}
	isGenerated := event.EventID == ""
	if isGenerated {
		event.EventID = newEventID()
	}
	body, err := encodeBody(event)
	return preparedEvent{event.EventID, body, isGenerated}, err
}

// newEventID returns evt_ and a random UUID (version 4 of RFC 9562).
func newEventID() string {
	var bytes [16]byte
	// It never fails: since Go 1.24 by contract, before on every platform in use.
	_, _ = rand.Read(bytes[:])
	bytes[6] = bytes[6]&0x0f | 0x40
	bytes[8] = bytes[8]&0x3f | 0x80
	return fmt.Sprintf("evt_%x-%x-%x-%x-%x",
		bytes[:4], bytes[4:6], bytes[6:8], bytes[8:10], bytes[10:])
}

// EventTime is a time of a request. Make one with Time, UnixTime or TimeText.
type EventTime struct{ value any }

// Time is sent in UTC with milliseconds.
func Time(t time.Time) *EventTime { return &EventTime{t} }

// UnixTime is seconds since 1970. Milliseconds are refused.
func UnixTime(seconds int64) *EventTime { return &EventTime{seconds} }

// TimeText is ISO 8601 with an offset. It is sent as it is.
func TimeText(text string) *EventTime { return &EventTime{text} }

// MarshalJSON writes text or a number. Its error is ErrInvalidArgument.
func (t EventTime) MarshalJSON() ([]byte, error) {
	value, err := t.format("a time")
	if err != nil {
		return nil, err
	}
	return json.Marshal(value)
}

// UnmarshalJSON reads text or seconds, so that stored events can be sent.
func (t *EventTime) UnmarshalJSON(text []byte) error {
	var seconds int64
	if json.Unmarshal(text, &seconds) == nil {
		t.value = seconds
		return nil
	}
	var iso string
	err := json.Unmarshal(text, &iso)
	t.value = iso
	return err
}

const (
	isoMilliseconds = "2006-01-02T15:04:05.000Z"
	// secondsMax: Unix seconds have ten digits for the next 260 years.
	secondsMax = 99_999_999_999
)

func (t EventTime) format(name string) (any, error) {
	switch value := t.value.(type) {
	case time.Time:
		if utc := value.UTC(); !value.IsZero() && utc.Year() >= 0 && utc.Year() <= 9999 {
			return utc.Format(isoMilliseconds), nil
		}
		return nil, fmt.Errorf("%w: %s is not a time that can be sent", ErrInvalidArgument, name)
	case int64:
		if value > secondsMax || value < -secondsMax {
			return nil, fmt.Errorf("%w: %s is in milliseconds: use Time, or seconds in UnixTime",
				ErrInvalidArgument, name)
		}
		return value, nil
	case string:
		return value, nil
	}
	return nil, fmt.Errorf("%w: %s is empty: use Time, UnixTime or TimeText", ErrInvalidArgument, name)
}

// Money is an amount with exactly the digits of the answer.
type Money string

// UnmarshalJSON reads a number or text. Anything else is left out.
func (m *Money) UnmarshalJSON(text []byte) error {
	var number json.Number
	if json.Unmarshal(text, &number) == nil && number != "" {
		*m = Money(number)
	}
	return nil
}

// Nullable is a member that can be a value or null. Make one with Value or Null; a nil pointer to
// it is left out.
type Nullable[T any] struct{ value *T }

// Value is a Nullable with a value.
func Value[T any](value T) *Nullable[T] { return &Nullable[T]{&value} }

// Null is a Nullable that is null.
func Null[T any]() *Nullable[T] { return &Nullable[T]{} }

// MarshalJSON writes the value or null.
func (n Nullable[T]) MarshalJSON() ([]byte, error) { return json.Marshal(n.value) }

// UnmarshalJSON reads a value. encoding/json reads null as a nil pointer.
func (n *Nullable[T]) UnmarshalJSON(text []byte) error { return json.Unmarshal(text, &n.value) }

// Ptr returns a pointer to a value, for the members for which 0 or false is not the same as
// nothing.
func Ptr[T any](value T) *T { return &value }

// keepEmpty returns nil for a list that is nil, which omitempty then leaves out.
func keepEmpty[T any](list []T) *[]T {
	if list == nil {
		return nil
	}
	return &list
}
