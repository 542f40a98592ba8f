package signalbox

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/url"
	"os"
	"regexp"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// ClientOption configures a client. Every CallOption is a ClientOption too, and is then the default
// of all calls.
type ClientOption interface{ applyToClient(*settings) }

// CallOption configures one call.
type CallOption interface {
	ClientOption
	GetOption
	applyToCall(*limits)
}

// GetOption configures a call of Events.Get.
type GetOption interface{ applyToGet(*getParameters) }

// WithToken sets the secret of a signal tracker. SIGNALBOX_TOKEN is the default.
func WithToken(token string) ClientOption {
	return clientOption(func(s *settings) {
		s.token, s.hasToken = func() string { return token }, true
	})
}

// WithBaseURL sets the base URL, such as "https://events.example/api/v1". SIGNALBOX_BASE_URL is the
// default.
func WithBaseURL(baseURL string) ClientOption {
	return clientOption(func(s *settings) { s.baseURL, s.hasBaseURL = baseURL, true })
}

// WithHTTPClient sends requests with a client of your own, for a proxy or a test. It is copied, and
// the copy does not follow redirects.
func WithHTTPClient(client *http.Client) ClientOption {
	return clientOption(func(s *settings) { s.http = client })
}

// WithHooks calls functions around each request.
func WithHooks(hooks Hooks) ClientOption {
	return clientOption(func(s *settings) { s.hooks = hooks })
}

// WithAppInfo names your program at the end of User-Agent.
func WithAppInfo(name, version string) ClientOption {
	return clientOption(func(s *settings) { s.app = &appInfo{name, version} })
}

// WithMaxRetries sets how often a failed request is repeated: 2 by default, 0 never.
func WithMaxRetries(count int) CallOption {
	return limitOption(func(l *limits) { l.maxRetries = count })
}

// WithTimeout limits one attempt, its body included: 10 seconds by default.
func WithTimeout(timeout time.Duration) CallOption {
	return limitOption(func(l *limits) { l.timeout = timeout })
}

// WithTotalTimeout limits a call with its retries and delays: 30 seconds by default.
func WithTotalTimeout(timeout time.Duration) CallOption {
	return limitOption(func(l *limits) { l.totalTimeout = timeout })
}

type clientOption func(*settings)

func (o clientOption) applyToClient(s *settings) { o(s) }

type limitOption func(*limits)

func (o limitOption) applyToClient(s *settings)     { o(&s.limits) }
func (o limitOption) applyToCall(l *limits)         { o(l) }
func (o limitOption) applyToGet(get *getParameters) { get.options = append(get.options, o) }

// settings is what a client needs for its requests. The token is in a function, so that no printed
// form has it, however deep it goes.
type settings struct {
	token      func() string
	hasToken   bool
	baseURL    string
	hasBaseURL bool
	userAgent  string
	app        *appInfo
	http       *http.Client
	hooks      Hooks
	limits     limits
	// hasNoBatches says that the service answered that it has no such operation.
	hasNoBatches atomic.Bool
	// random is a number from 0 to 1 for jitter.
	random func() float64
}

type appInfo struct{ name, version string }

type limits struct {
	maxRetries   int
	timeout      time.Duration
	totalTimeout time.Duration
}

func resolveSettings(options []ClientOption) (*settings, error) {
	s := &settings{
		limits: limits{maxRetries: 2, timeout: 10 * time.Second, totalTimeout: 30 * time.Second},
		random: rand.Float64,
	}
	readEnvironment(s)
	for _, option := range options {
		option.applyToClient(s)
	}
	if err := s.check(); err != nil {
		return nil, err
	}
	s.http = refuseRedirects(s.http)
	return s, nil
}

// readEnvironment takes a variable that is empty for one that is not set.
func readEnvironment(s *settings) {
	if token := os.Getenv("SIGNALBOX_TOKEN"); token != "" {
		WithToken(token).applyToClient(s)
	}
	if baseURL := os.Getenv("SIGNALBOX_BASE_URL"); baseURL != "" {
		WithBaseURL(baseURL).applyToClient(s)
	}
}

func (s *settings) check() (err error) {
	if s.hasToken {
		if err := checkToken(s.token()); err != nil {
			return err
		}
	}
	if !s.hasBaseURL {
		return fmt.Errorf(
			"%w: there is no base URL: set SIGNALBOX_BASE_URL or use WithBaseURL", ErrInvalidArgument)
	}
	if s.baseURL, err = normalizeBaseURL(s.baseURL); err != nil {
		return err
	}
	if s.userAgent, err = formatUserAgent(s.app); err != nil {
		return err
	}
	return s.limits.check()
}

// credential returns the token, which only some operations need.
func (s *settings) credential() (string, error) {
	if s.hasToken {
		return s.token(), nil
	}
	return "", fmt.Errorf(
		"%w: there is no token: set SIGNALBOX_TOKEN or use WithToken", ErrInvalidArgument)
}

// limitsOf returns the limits of a call: its own, else those of the client.
func (s *settings) limitsOf(options []CallOption) (limits, error) {
	own := s.limits
	for _, option := range options {
		option.applyToCall(&own)
	}
	return own, own.check()
}

func (l limits) check() error {
	if l.maxRetries < 0 {
		return fmt.Errorf("%w: the number of retries is negative", ErrInvalidArgument)
	}
	if l.timeout <= 0 || l.totalTimeout <= 0 {
		return fmt.Errorf("%w: a timeout must be above 0", ErrInvalidArgument)
	}
	return nil
}

// checkToken refuses what a header cannot hold, such as a line break, which would add a header.
func checkToken(token string) error {
	isForbidden := func(r rune) bool { return r < '!' || r > '~' }
	if token == "" || strings.IndexFunc(token, isForbidden) >= 0 {
		return fmt.Errorf("%w: the token must be visible ASCII characters", ErrInvalidArgument)
	}
	if isBrowser() {
		return fmt.Errorf("%w: this is a browser, where anyone could read the token: "+
			"send events from a server, or with the tag", ErrInvalidArgument)
	}
	return nil
}

func normalizeBaseURL(text string) (string, error) {
	parsed, err := url.Parse(text)
	isBase := err == nil && (parsed.Scheme == "http" || parsed.Scheme == "https") &&
		parsed.Hostname() != "" && parsed.User == nil &&
		!strings.ContainsAny(text, "?#")
	if !isBase {
		// The text is not in the message: it may have a password.
		return "", fmt.Errorf("%w: the base URL must be an http or https URL "+
			"without credentials, query and fragment", ErrInvalidArgument)
	}
	path := strings.TrimRight(parsed.EscapedPath(), "/")
	if path == "" {
		path = "/api/v1"
	}
	return parsed.Scheme + "://" + parsed.Host + path, nil
}

var appInfoPattern = regexp.MustCompile("^[\\w.!#$%&'*+^`|~-]+$")

func formatUserAgent(app *appInfo) (string, error) {
	own := "signalbox-go/" + Version + " go/" + runtimeVersion(runtime.Version())
	if app == nil {
		return own, nil
	}
	if !appInfoPattern.MatchString(app.name) || !appInfoPattern.MatchString(app.version) {
		return "", fmt.Errorf("%w: the name and version of the app must be words", ErrInvalidArgument)
	}
	return own + " " + app.name + "/" + app.version, nil
}

// runtimeVersion returns the number of a release, or the first word of another version.
func runtimeVersion(version string) string {
	first, _, _ := strings.Cut(strings.TrimPrefix(version, "go"), " ")
	return first
}

// idleConnectionsMax is enough for a queue with a high concurrency. The default of net/http is 2.
const idleConnectionsMax = 64

// newHTTPClient respects a http.DefaultTransport that the program replaced.
func newHTTPClient() *http.Client {
	if _, isOriginal := http.DefaultTransport.(*http.Transport); !isOriginal {
		return &http.Client{}
	}
	return &http.Client{Transport: sharedTransport()}
}

// sharedTransport has the connections of all clients. It is made with the first of them, after the
// program has set up http.DefaultTransport.
var sharedTransport = sync.OnceValue(func() *http.Transport {
	own := http.DefaultTransport.(*http.Transport).Clone()
	own.MaxIdleConnsPerHost = idleConnectionsMax
	return own
})

// refuseRedirects returns a copy that returns redirects as they are, so that no secret travels.
func refuseRedirects(client *http.Client) *http.Client {
	if client == nil {
		client = newHTTPClient()
	}
	own := *client
	own.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &own
}
