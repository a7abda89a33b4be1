package transport

import (
	"bytes"
	"encoding/base64"
	"errors"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"
)

const (
	// minSecret is the least length of a credential: what is shorter is not a secret,
	// and to be found in any text.
	minSecret = 6

	// minPart is the least length of a credential's beginning that is taken for one
	// where a text ends in it. Less of it tells nobody anything.
	minPart = 4

	// longPart is the least length of a credential's beginning that is taken for one
	// anywhere in a text. Less of it may be a word.
	longPart = 12

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
	secrets := formsOf(credential)
	if strings.EqualFold(scheme, "Basic") {
		plain, _ := base64.StdEncoding.DecodeString(credential)
		_, password, _ := strings.Cut(string(plain), ":")
		secrets = append(secrets, formsOf(password)...)
	}
	if len(secrets) > 0 {
		secrets = append(secrets, encodingsOf(authorization)...)
	}
	return secrets
}

// formsOf returns a secret as it is, and in base64. One that is short has none: it is not
// a secret, and to be found in any text.
func formsOf(secret string) [][]byte {
	if len(secret) < minSecret {
		return nil
	}
	return append([][]byte{[]byte(secret)}, encodingsOf(secret)...)
}

// encodingsOf returns a text in base64; see also withTokenInProtocol. Padding comes after
// all of it, and tells nothing.
func encodingsOf(text string) [][]byte {
	url, std := base64.RawURLEncoding.EncodeToString([]byte(text)), base64.RawStdEncoding.EncodeToString([]byte(text))
	if url == std {
		return [][]byte{[]byte(url)}
	}
	return [][]byte{[]byte(url), []byte(std)}
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
	plain := unescape(text)
	for _, s := range x.secrets() {
		if n := endsIn(text, s); n >= minPart {
			text = append(bytes.Clone(text[:len(text)-n]), redacted...)
		} else if endsIn(plain, s) >= minPart {
			return redacted
		}
	}
	return text
}

// redactWhole is redact for a text that is known not to have been cut.
func (x *exchange) redactWhole(text []byte) []byte {
	for _, s := range x.secrets() {
		text = withoutBeginnings(bytes.ReplaceAll(text, s, redacted), s)
	}
	if plain := unescape(text); len(plain) < len(text) {
		for _, s := range x.secrets() {
			if bytes.Contains(plain, s) {
				return redacted // where it is in the text itself is not worth finding out
			}
		}
	}
	return text
}

// withoutBeginnings returns a text without the beginnings of a secret: somebody may have
// cut it before it came here.
func withoutBeginnings(text, secret []byte) []byte {
	if len(secret) <= longPart {
		return text
	}
	var out []byte
	for {
		i := bytes.Index(text, secret[:longPart])
		if i < 0 {
			break
		}
		n := longPart
		for n < len(secret) && i+n < len(text) && text[i+n] == secret[n] {
			n++
		}
		out = append(append(out, text[:i]...), redacted...)
		text = text[i+n:]
	}
	if out == nil {
		return text
	}
	return append(out, text...)
}

// escapes are ways to write a character in JSON, a URL and HTML.
var escapes = regexp.MustCompile(`\\u[0-9a-fA-F]{4}|\\/|%[0-9a-fA-F]{2}|&#[0-9]{1,3};|&#[xX][0-9a-fA-F]{1,4};`)

// unescape returns a text without the escapes that a credential may be written with.
func unescape(text []byte) []byte {
	if !bytes.ContainsAny(text, `\%&`) {
		return text
	}
	return escapes.ReplaceAllFunc(text, func(e []byte) []byte {
		digits, base := string(e), 16
		switch {
		case digits == `\/`:
			return []byte("/")
		case digits[0] == '\\':
			digits = digits[2:]
		case digits[0] == '%':
			digits = digits[1:]
		case digits[2] == 'x' || digits[2] == 'X':
			digits = digits[3 : len(digits)-1]
		default:
			digits, base = digits[2:len(digits)-1], 10
		}
		c, err := strconv.ParseUint(digits, base, 16)
		if err != nil || c >= utf8.RuneSelf {
			return e // no credential has it: see checkToken
		}
		return []byte{byte(c)}
	})
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
