package signalbox

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// ErrWebhookNotVerified says that a message is not genuine, or too old to tell. Answer 401, and use
// nothing of it.
var ErrWebhookNotVerified = errors.New("signalbox: the webhook is not verified")

// ErrWebhookSecret says that a signing secret is not whsec_ and base64.
var ErrWebhookSecret = errors.New("signalbox: the signing secret must be whsec_ and base64")

const (
	webhookSecretPrefix = "whsec_"
	webhookTolerance    = 5 * time.Minute
	webhookSecondsMax   = 12
)

// WebhookMessage is a message of a webhook destination. Its Type says what is in Data.
type WebhookMessage struct {
	Type      string          `json:"type"`
	Timestamp time.Time       `json:"timestamp"`
	Test      bool            `json:"test"`
	Data      json.RawMessage `json:"data"`
}

// WebhookVerifier verifies messages by the conventions of Standard Webhooks.
type WebhookVerifier struct {
	// Secrets has one secret, or several while it is rotated.
	Secrets []string
	// Tolerance is how far the time of a message may be from the clock: five minutes if it is 0.
	Tolerance time.Duration
	// Now is the clock: time.Now if it is nil.
	Now func() time.Time
}

// Verify returns the message. It fails with ErrWebhookNotVerified unless one of the signatures is
// of one of the secrets and the time is near the clock. The body is the body as it arrived. The
// header webhook-id is the same for every attempt of a message.
func (v WebhookVerifier) Verify(header http.Header, body []byte) (WebhookMessage, error) {
	id, timestamp := header.Get("webhook-id"), header.Get("webhook-timestamp")
	if id == "" || !v.isCurrent(timestamp) {
		return WebhookMessage{}, ErrWebhookNotVerified
	}
	content := append([]byte(id+"."+timestamp+"."), body...)
	signatures := strings.Split(header.Get("webhook-signature"), " ")
	genuine := false
	for _, secret := range v.Secrets {
		expected, err := signWebhook(secret, content)
		if err != nil {
			return WebhookMessage{}, err
		}
		for _, signature := range signatures {
			if hmac.Equal([]byte(signature), expected) {
				genuine = true
			}
		}
	}
	var message WebhookMessage
	if !genuine || json.Unmarshal(body, &message) != nil || message.Type == "" {
		return WebhookMessage{}, ErrWebhookNotVerified
	}
	return message, nil
}

func (v WebhookVerifier) isCurrent(timestamp string) bool {
	seconds, err := strconv.ParseInt(timestamp, 10, 64)
	if err != nil || seconds < 0 || len(timestamp) > webhookSecondsMax || timestamp[0] == '+' {
		return false
	}
	tolerance, now := v.Tolerance, time.Now
	if tolerance == 0 {
		tolerance = webhookTolerance
	}
	if v.Now != nil {
		now = v.Now
	}
	return now().Sub(time.Unix(seconds, 0)).Abs() <= tolerance
}

// signWebhook returns a signature. Its error never repeats the secret.
func signWebhook(secret string, content []byte) ([]byte, error) {
	encoded, ok := strings.CutPrefix(secret, webhookSecretPrefix)
	key, err := base64.StdEncoding.DecodeString(encoded)
	if !ok || err != nil || len(key) < sha256.Size/2 {
		return nil, ErrWebhookSecret
	}
	mac := hmac.New(sha256.New, key)
	mac.Write(content)
	return []byte("v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil))), nil
}
