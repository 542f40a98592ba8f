// Command cdnow sends the purchases of the CDNOW sample (see examples/cdnow of the repository)
// through a queue, and prints how many had each outcome, as JSON:
//
//	go run ./examples/cdnow ../../../examples/cdnow/CDNOW_sample.txt
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"log"
	"os"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"

	signalbox "github.com/signalbox-events/signalbox/clients/sdks/go"
)

// linePattern: number in all of CDNOW, number in the sample, YYYYMMDD, CDs, dollars, cents.
var linePattern = regexp.MustCompile(
	`^ (\d{5}) \d{4} (\d{4})(\d{2})(\d{2}) +(\d+) +(\d+)\.(\d{2})$`)

type purchase struct {
	line     int
	customer string
	date     string
	items    int64
	cents    int64
}

func (p purchase) dollars() string { return formatCents(p.cents) }

func formatCents(cents int64) string { return fmt.Sprintf("%d.%02d", cents/100, cents%100) }

func main() {
	first := flag.Int("first", 0, "how many lines to send; all by default")
	now := flag.String("now", "", "the time of the last purchase; the present by default")
	flag.Parse()
	if os.Getenv("SIGNALBOX_TOKEN") == "" {
		log.Fatal("set SIGNALBOX_TOKEN")
	}
	if err := run(flag.Arg(0), *first, *now); err != nil {
		log.Fatal(err)
	}
}

func run(path string, first int, nowText string) error {
	purchases, err := readPurchases(path)
	if err != nil {
		return err
	}
	if first > 0 && first < len(purchases) {
		purchases = purchases[:first]
	}
	now := time.Now()
	if nowText != "" {
		if now, err = time.Parse(time.RFC3339, nowText); err != nil {
			return err
		}
	}
	counts, err := send(purchases, now)
	if err != nil {
		return err
	}
	var cents int64
	for _, one := range purchases {
		cents += one.cents
	}
	report := map[string]any{"purchases": len(purchases), "dollars": formatCents(cents)}
	for status, count := range counts {
		report[string(status)] = count
	}
	return json.NewEncoder(os.Stdout).Encode(report)
}

func readPurchases(path string) ([]purchase, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	var purchases []purchase
	scanner := bufio.NewScanner(file)
	for scanner.Scan() {
		line := len(purchases) + 1
		found := linePattern.FindStringSubmatch(strings.TrimRight(scanner.Text(), "\r"))
		if found == nil {
			return nil, fmt.Errorf("line %d of the sample is not a purchase", line)
		}
		items, itemsErr := strconv.ParseInt(found[5], 10, 64)
		// Dollars and cents are one integer: sums are exact.
		cents, centsErr := strconv.ParseInt(found[6]+found[7], 10, 64)
		if err := errors.Join(itemsErr, centsErr); err != nil {
			return nil, err
		}
		date := strings.Join(found[2:5], "-")
		purchases = append(purchases, purchase{line, found[1], date, items, cents})
	}
	return purchases, scanner.Err()
}

// send makes recent purchases of those of 1997 and 1998, a second apart.
func send(purchases []purchase, now time.Time) (map[signalbox.OutcomeStatus]int, error) {
	client, err := signalbox.New()
	if err != nil {
		return nil, err
	}
	var mutex sync.Mutex
	var failures []error
	counts := map[signalbox.OutcomeStatus]int{}
	queue, err := client.Queue(signalbox.WithOnOutcome(func(outcome signalbox.Outcome) {
		mutex.Lock()
		defer mutex.Unlock()
		counts[outcome.Status]++
		if outcome.Err != nil {
			failures = append(failures, fmt.Errorf("%s: %w", outcome.EventID, outcome.Err))
		}
	}))
	if err != nil {
		return nil, err
	}
	for _, one := range purchases {
		at := now.Add(-time.Duration(len(purchases)-one.line) * time.Second)
		if err := add(queue, one, at); err != nil {
			return nil, err
		}
	}
	queue.Close(context.Background())
	return counts, errors.Join(failures...)
}

// add waits for room: the queue never drops an event.
func add(queue *signalbox.Queue, one purchase, at time.Time) error {
	event, err := toEvent(one, at)
	if err != nil {
		return err
	}
	_, err = queue.Add(event)
	if !errors.Is(err, signalbox.ErrQueueFull) {
		return err
	}
	if _, err := queue.Flush(context.Background()); err != nil {
		return err
	}
	_, err = queue.Add(event)
	return err
}

func toEvent(one purchase, at time.Time) (signalbox.EventSubmission, error) {
	digest, ok := signalbox.HashExternalID(one.customer)
	if !ok {
		return signalbox.EventSubmission{}, fmt.Errorf("line %d has no customer", one.line)
	}
	consent, err := signalbox.ConsentGranted(signalbox.ConsentDetails{
		CapturedAt: signalbox.Time(at.Add(-time.Minute)),
	})
	return signalbox.EventSubmission{
		// The same in every run, so that a second run counts nothing twice.
		EventID:      fmt.Sprintf("cdnow-%04d-%s-%s", one.line, one.customer, one.date),
		EventName:    "Purchase",
		EventTime:    signalbox.Time(at),
		ConsentBasis: "consent",
		Consent:      consent,
		UserData:     signalbox.FreeFormObject{"external_id": digest},
		ValueData: &signalbox.ValueData{
			Value: one.dollars(), Currency: "USD", NumItems: signalbox.Ptr(one.items),
		},
	}, err
}
