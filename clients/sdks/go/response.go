package signalbox

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"strings"
)

// Response is the facts of the answer that a result came from.
type Response struct {
	Status int
	// RequestID is what to quote when you contact support. It is empty when the answer has none.
	RequestID string
	// Attempts is how many requests were made.
	Attempts int

	answer func() *answer
}

// Header returns the headers of the answer. No printed form of a Response has them.
func (r *Response) Header() http.Header { return r.answer().header }

// RawBody returns the body as it came, with members that this version does not know.
func (r *Response) RawBody() string { return string(r.answer().body) }

// Result is a part of each value that an operation returns.
type Result struct {
	LastResponse *Response `json:"-"`
}

func (r *Result) setResponse(response *Response) { r.LastResponse = response }

func newResponse(read *answer, attempts int) *Response {
	return &Response{
		Status:    read.status,
		RequestID: readRequestID(read.header),
		Attempts:  attempts,
		answer:    func() *answer { return read },
	}
}

// answer is a whole answer of the service. Results and errors have it in a function, so that no
// printed form shows headers and bodies: they may repeat what was sent.
type answer struct {
	status int
	header http.Header
	// body is empty when it is too large.
	body []byte
}

// bodyBytesMax is for an answer in memory. The largest page of the API is far below it.
const bodyBytesMax = 32 << 20

func readAnswer(response *http.Response) (*answer, error) {
	body, err := io.ReadAll(io.LimitReader(response.Body, bodyBytesMax+1))
	if err != nil {
		return nil, err
	}
	if len(body) > bodyBytesMax {
		body = nil
	}
	return &answer{status: response.StatusCode, header: response.Header, body: body}, nil
}

func isObject(body []byte) bool {
	return bytes.HasPrefix(bytes.TrimLeft(body, " \t\r\n"), []byte("{")) && json.Valid(body)
}

// decodeBody reads what it can: a member of another type keeps its zero value, and encoding/json
// goes on with the others. Numbers in free-form objects are json.Number, which has all digits.
func decodeBody(body []byte, target any) {
	decoder := json.NewDecoder(bytes.NewReader(body))
	decoder.UseNumber()
	_ = decoder.Decode(target)
}

func readRequestID(header http.Header) string {
	if id := header.Get("Request-Id"); id != "" {
		return id
	}
	return header.Get("X-Request-Id")
}

// redact hides the credential, which a proxy or a library may repeat.
func redact(text, credential string) string {
	if credential == "" {
		return text
	}
	return strings.ReplaceAll(text, credential, "[redacted]")
}
