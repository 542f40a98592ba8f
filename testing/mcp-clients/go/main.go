// The official Go SDK, with a token that golang.org/x/oauth2 gets for it: it prints the URL that a
// person approves, reads the URL of the callback, and refreshes the token once.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"golang.org/x/oauth2"
)

func main() {
	ctx := context.Background()
	origin, callback := os.Getenv("SIGNALBOX_ORIGIN"), os.Getenv("SIGNALBOX_CALLBACK")
	config := oauth2.Config{
		ClientID:    os.Getenv("SIGNALBOX_CLIENT_ID"),
		RedirectURL: callback,
		Scopes:      []string{"mcp:use", "offline_access"},
		Endpoint: oauth2.Endpoint{
			AuthURL:   origin + "/oauth2/authorize",
			TokenURL:  origin + "/oauth2/token",
			AuthStyle: oauth2.AuthStyleInParams,
		},
	}
	verifier := oauth2.GenerateVerifier()
	fmt.Println(config.AuthCodeURL("state", oauth2.S256ChallengeOption(verifier)))
	lines := bufio.NewScanner(os.Stdin)
	lines.Scan()
	back, err := url.Parse(lines.Text())
	check(err)
	token, err := config.Exchange(ctx, back.Query().Get("code"), oauth2.VerifierOption(verifier))
	check(err)
	// As if it had expired: the source refreshes it.
	token.Expiry = time.Now().Add(-time.Hour)
	http := oauth2.NewClient(ctx, config.TokenSource(ctx, token))

	client := mcp.NewClient(&mcp.Implementation{Name: "go", Version: "1"}, nil)
	session, err := client.Connect(ctx, &mcp.StreamableClientTransport{Endpoint: origin + "/mcp", HTTPClient: http}, nil)
	check(err)
	listed, err := session.ListTools(ctx, nil)
	check(err)
	names := []string{}
	for _, tool := range listed.Tools {
		names = append(names, tool.Name)
	}
	_, err = session.CallTool(ctx, &mcp.CallToolParams{Name: "get_account_state"})
	check(err)
	result, err := session.CallTool(ctx, &mcp.CallToolParams{Name: "list_actions", Arguments: map[string]any{"status": "any"}})
	check(err)
	answer, err := json.Marshal(result.StructuredContent)
	check(err)
	text, err := json.Marshal(map[string]any{"tools": names, "answer": string(answer)})
	check(err)
	fmt.Println(string(text))
	os.Exit(0)
}

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
