package signalbox

import (
	"encoding/json"
	"errors"
	"net/http"
	"os"
	"testing"
	"time"
)

type webhookVector struct {
	Title    string
	Secrets  []string
	Now      int64
	Headers  map[string]string
	Body     string
	Verified bool
}

func (vector webhookVector) verify() (WebhookMessage, error) {
	header := http.Header{}
	for name, value := range vector.Headers {
		header.Set(name, value)
	}
	now := func() time.Time { return time.Unix(vector.Now, 0) }
	return WebhookVerifier{Secrets: vector.Secrets, Now: now}.Verify(header, []byte(vector.Body))
}

func readWebhookVectors(t *testing.T) []webhookVector {
	text, err := os.ReadFile("../webhook-vectors.json")
	if err != nil {
		t.Skip("the vectors are not part of the module:", err)
	}
	var vectors []webhookVector
	if err := json.Unmarshal(text, &vectors); err != nil {
		t.Fatal(err)
	}
	return vectors
}

func TestWebhookVectors(t *testing.T) {
	for _, vector := range readWebhookVectors(t) {
		message, err := vector.verify()
		if vector.Verified && (err != nil || message.Type != "events.accepted") {
			t.Errorf("%s: %v %v", vector.Title, message.Type, err)
		}
		if !vector.Verified && !errors.Is(err, ErrWebhookNotVerified) {
			t.Errorf("%s: %v", vector.Title, err)
		}
	}
}

func TestWebhookPublishedSignature(t *testing.T) {
	vector := readWebhookVectors(t)[0]
	headers := vector.Headers
	content := headers["webhook-id"] + "." + headers["webhook-timestamp"] + "." + vector.Body
	signature, err := signWebhook(vector.Secrets[0], []byte(content))
	if err != nil || string(signature) != vector.Headers["webhook-signature"] {
		t.Errorf("%s %v", signature, err)
	}
}

func TestWebhookSecretForms(t *testing.T) {
	vector := readWebhookVectors(t)[1]
	for _, secret := range []string{"", "the-secret", "whsec_", "whsec_!!!!!!!!!!!!!!!!!!!!"} {
		vector.Secrets = []string{secret}
		if _, err := vector.verify(); !errors.Is(err, ErrWebhookSecret) {
			t.Errorf("%q: %v", secret, err)
		}
	}
}
