package cli

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/relist-go/relist/transport"
)

// Choice is a word that a flag takes, and its meaning.
type Choice[V any] struct {
	Word  string
	Value V
}

// AddChoice defines a flag that takes one of several words. It puts the meaning of the word into
// target; the first word is the default.
func AddChoice[V any](cmd *cobra.Command, target *V, name, usage string, choices ...Choice[V]) {
	*target = choices[0].Value
	c := &choice[V]{choices: choices, target: target}
	cmd.Flags().Var(c, name, usage)
	CompleteWords(cmd, name, c.words()...)
}

// choice is the value of such a flag.
type choice[V any] struct {
	choices []Choice[V]
	chosen  int
	target  *V
}

func (c *choice[V]) words() []string {
	words := make([]string, len(c.choices))
	for i := range c.choices {
		words[i] = c.choices[i].Word
	}
	return words
}

// Set implements [pflag.Value].
func (c *choice[V]) Set(s string) error {
	for i := range c.choices {
		if s == c.choices[i].Word {
			c.chosen, *c.target = i, c.choices[i].Value
			return nil
		}
	}
	return oneOf(c.words())
}

// oneOf says that one of several words is wanted.
func oneOf(words []string) WantError {
	last := len(words) - 1
	return WantError(strings.Join(words[:last], ", ") + " or " + words[last])
}

// String implements [pflag.Value].
func (c *choice[V]) String() string {
	if c.chosen == 0 {
		return "" // so that help shows no default twice
	}
	return c.choices[c.chosen].Word
}

// Type implements [pflag.Value].
func (*choice[V]) Type() string { return "string" }

// AddTransport defines --transport.
func AddTransport(cmd *cobra.Command, watches *transport.WatchTransport) {
	AddChoice(cmd, watches, "transport",
		"how watches travel: http; or websocket, for proxies that hold a response back until it\nis whole (default: http)",
		Choice[transport.WatchTransport]{"http", transport.WatchHTTP},
		Choice[transport.WatchTransport]{"websocket", transport.WatchWebSocket})
}
