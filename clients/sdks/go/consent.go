package signalbox

import (
	"fmt"
	"time"
)

// ConsentDetails are about the consent of a person. Members that are empty are left out.
type ConsentDetails struct {
	// CapturedAt is when the person agreed. It is required.
	CapturedAt *EventTime
	// Method is such as "banner" or "checkout".
	Method string
	// Version is which version of the text the person saw.
	Version   string
	Source    string
	PolicyURL string
	Locale    string
}

// ConsentGranted builds the consent of an event whose person agreed to advertising. Send the
// consent basis "consent" with it. Its error is ErrInvalidArgument.
func ConsentGranted(details ConsentDetails) (FreeFormObject, error) {
	if details.CapturedAt == nil {
		return nil, fmt.Errorf("%w: captured_at is missing", ErrInvalidArgument)
	}
	capturedAt, err := details.CapturedAt.format("captured_at")
	if err != nil {
		return nil, err
	}
	if seconds, isSeconds := capturedAt.(int64); isSeconds {
		capturedAt = time.Unix(seconds, 0).UTC().Format(isoMilliseconds)
	}
	consent := FreeFormObject{"advertising": "granted", "captured_at": capturedAt}
	optional := map[string]string{
		"method":     details.Method,
		"version":    details.Version,
		"source":     details.Source,
		"policy_url": details.PolicyURL,
		"locale":     details.Locale,
	}
	for name, value := range optional {
		if value != "" {
			consent[name] = value
		}
	}
	return consent, nil
}

// ConsentSignal is a signal of Consent Mode. The empty one is not given.
type ConsentSignal string

const (
	Granted ConsentSignal = "granted"
	Denied  ConsentSignal = "denied"
)

// GrantedIf returns Granted or Denied.
func GrantedIf(isGranted bool) ConsentSignal {
	if isGranted {
		return Granted
	}
	return Denied
}

// ConsentModeSignals are those of Consent Mode v2.
type ConsentModeSignals struct {
	AdStorage         ConsentSignal
	AdUserData        ConsentSignal
	AdPersonalization ConsentSignal
}

// ConsentMode builds the consent mode of an event. The service refuses an event with a signal that
// is denied. A signal other than Granted counts as Denied.
func ConsentMode(signals ConsentModeSignals) FreeFormObject {
	given := map[string]ConsentSignal{
		"ad_storage":         signals.AdStorage,
		"ad_user_data":       signals.AdUserData,
		"ad_personalization": signals.AdPersonalization,
	}
	mode := FreeFormObject{}
	for name, signal := range given {
		if signal != "" {
			mode[name] = string(GrantedIf(signal == Granted))
		}
	}
	return mode
}
