package transport

import (
	"bytes"
	"encoding/base64"
	"errors"
	"strings"
)

const (
	// minSecret is the least length of a credential: what is shorter is not a secret,
	// and to be found in any text.
	minSecret = 6

	// minPart is the least length of a credential's beginning that is taken for one
	// where a text ends in it. Less of it tells nobody anything.
	minPart = 4

	// maxHead is how many bytes of a strange body are quoted in an error.
	maxHead = 256
)

var redacted = []byte("REDACTED")

// secretsOf returns what must not be quoted of an Authorization header: the
// credential, and the password inside it. What debugging proxies send back is
// either one.
func secretsOf(authorization string) [][]byte {
	scheme, credential, ok := strings.Cut(authorization, " ")
	if !ok {
		scheme, credential = "", authorization // a scheme of the caller's own
	}
	secrets := [][]byte{[]byte(credential)}
	if strings.EqualFold(scheme, "Basic") {
		plain, _ := base64.StdEncoding.DecodeString(credential)
		_, password, _ := bytes.Cut(plain, []byte(":"))
		secrets = append(secrets, password)
	}
	if strings.EqualFold(scheme, "Bearer") { // see withTokenInProtocol
		secrets = append(secrets, []byte(base64.RawURLEncoding.EncodeToString([]byte(credential))))
	}
	long := secrets[:0]
	for _, s := range secrets {
		if len(s) >= minSecret {
			long = append(long, s)
		}
	}
	return long
}

// secrets are what no error of the exchange may quote.
func (x *exchange) secrets() [][]byte {
	return append(secretsOf(x.authorization), x.known...)
}

// redact returns text without the credential of the exchange. A text that ends
// inside the credential, as one that was cut does, loses that part of it too. One
// that begins inside it does not occur: a frame begins with a brace, and neither a
// token (RFC 6750, section 2.1) nor base64 has any.
func (x *exchange) redact(text []byte) []byte {
	text = x.redactWhole(text)
	for _, s := range x.secrets() {
		if n := endsIn(text, s); n >= minPart {
			text = append(bytes.Clone(text[:len(text)-n]), redacted...)
		}
	}
	return text
}

// redactWhole is redact for a text that is known not to have been cut.
func (x *exchange) redactWhole(text []byte) []byte {
	for _, s := range x.secrets() {
		text = bytes.ReplaceAll(text, s, redacted)
	}
	return text
}

// endsIn returns the length of the longest beginning of secret that text ends with.
func endsIn(text, secret []byte) int {
	for n := min(len(text), len(secret)-1); n > 0; n-- {
		if bytes.HasSuffix(text, secret[:n]) {
			return n
		}
	}
	return 0
}

// quote returns the first bytes of text without the credential, at most bound. The
// cut comes last: a credential that lies across it would not be known any more.
func (x *exchange) quote(text []byte, bound int) []byte {
	text = x.redact(text[:min(len(text), bound+x.longestSecret())])
	return text[:min(len(text), bound)]
}

// longestSecret is how many bytes must be known beyond the end of a quotation.
func (x *exchange) longestSecret() int {
	longest := 0
	for _, s := range x.secrets() {
		longest = max(longest, len(s))
	}
	return longest
}

// redactError is the last resort, for errors that others made, such as net/http's
// of a header that is none: one with the credential in its text gets another text.
// errors.Is and errors.As still find what is under it.
func (x *exchange) redactError(err error) error {
	text := err.Error()
	clean := string(x.redactWhole([]byte(text)))
	if clean == text {
		return err
	}
	return &redactedError{text: clean, err: err}
}

type redactedError struct {
	text string
	err  error
}

func (e *redactedError) Error() string        { return e.text }
func (e *redactedError) Is(target error) bool { return errors.Is(e.err, target) }
func (e *redactedError) As(target any) bool   { return errors.As(e.err, target) }
