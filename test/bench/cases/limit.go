package cases

import (
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net/http"
	"reflect"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
	"google.golang.org/protobuf/encoding/protowire"
	corev1 "k8s.io/api/core/v1"

	"github.com/relist-go/relist/test/bench/measure"
	"github.com/relist-go/relist/test/bench/objects"
)

// chunk is how many Pods or events are received at once: a multiple of what the server sends.
const chunk = 512

// limit measures how many bytes of a list, or of the changes of a watch, can be received for a
// second of CPU, by less than an informer and then by an informer. To read is to take them from the
// socket. To scan is to see where each value begins and ends, and that all is well-formed. To
// decode is also to copy each string, without its escapes, into one buffer that is used again.
func limit(ctx context.Context, e *env) error {
	informer, first, query := list, 0, "limit=%[1]d&continue=%[2]d"
	if e.events > 0 {
		version, err := e.post(ctx, "change", fmt.Sprintf("count=%d", e.events))
		if err != nil {
			return err
		}
		informer, first, query = steadyWatch, int(version)-e.events, "watch=1&resourceVersion=%[2]d&until=%[3]d"
	}
	accept, end := "application/json", first+cmp.Or(e.events, e.objects)
	if e.spec.Encoding == objects.Protobuf {
		accept = "application/vnd.kubernetes.protobuf"
	}
	var s scanner
	var total float64
	for _, way := range []string{"read", "scan", "decode"} {
		s.decode, total = way == "decode", 0
		begin := measure.ProcessCPU()
		for at := first; at < end; at += chunk {
			url := fmt.Sprintf(e.access.URL+"/api/v1/pods?"+query, chunk, at, min(at+chunk, end))
			if err := ask(ctx, http.MethodGet, url, accept, &s.body); err != nil {
				return err
			}
			total += float64(s.body.Len()) / measure.MB
			if way != "read" {
				if err := s.scan(e.spec.Encoding, e.events > 0); err != nil {
					return fmt.Errorf("%s: %w", way, err)
				}
			}
		}
		e.result.Set(way+", MB/s", total/(measure.ProcessCPU()-begin).Seconds())
	}
	err := informer(ctx, e)
	cpu, _ := e.result.Get(measure.CPU)
	e.result.Set("relist, MB/s", total/cpu)
	return err
}

// A scanner scans bodies.
type scanner struct {
	body   bytes.Buffer
	decode bool
	value  []byte
}

func (s *scanner) scan(format objects.Format, watch bool) (err error) {
	switch body := s.body.Bytes(); {
	case format == objects.JSON:
		d := jsontext.NewDecoder(&s.body, jsontext.AllowDuplicateNames(true))
		for err == nil {
			switch {
			case !s.decode:
				err = d.SkipValue()
			case d.PeekKind() != '"':
				_, err = d.ReadToken()
			default:
				text, failed := d.ReadValue()
				s.value, err = jsontext.AppendUnquote(s.value[:0], text)
				err = cmp.Or(failed, err)
			}
		}
		if errors.Is(err, io.EOF) {
			err = nil
		}
	case watch:
		for len(body) > 0 && err == nil {
			end := 4 + binary.BigEndian.Uint32(body)
			err = s.message(body[4:end], podEvent)
			body = body[end:]
		}
	default:
		err = s.message(body, podList)
	}
	return err
}

func (s *scanner) message(b []byte, of *fields) error {
	b = bytes.TrimPrefix(b, []byte("k8s\x00")) // before an envelope
	for len(b) > 0 {
		number, kind, n := protowire.ConsumeField(b)
		if n < 0 {
			return protowire.ParseError(n)
		}
		if kind == protowire.BytesType {
			value, _ := protowire.ConsumeBytes(b[protowire.SizeTag(number):])
			if int(number) < len(*of) && (*of)[number] != nil {
				if err := s.message(value, (*of)[number]); err != nil {
					return err
				}
			} else if s.decode {
				s.value = append(s.value[:0], value...)
			}
		}
		b = b[n:]
	}
	return nil
}

// fields are those of a message, by number; nil if a field has none of its own.
type fields []*fields

// podList and podEvent are the fields of an envelope with a list, and of an event of a watch.
var (
	podList  = &fields{2: fieldsOf(reflect.TypeFor[corev1.PodList]())}
	podEvent = &fields{2: {1: {2: fieldsOf(reflect.TypeFor[corev1.Pod]())}}}
)

// fieldsOf reads the tags of a type. Nothing in a Pod contains itself.
func fieldsOf(t reflect.Type) *fields {
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice:
		return fieldsOf(t.Elem())
	case reflect.Map:
		return &fields{2: fieldsOf(t.Elem())}
	case reflect.Struct:
	default:
		return nil
	}
	of := new(fields)
	for field := range t.Fields() {
		if tag := strings.Split(field.Tag.Get("protobuf"), ","); len(tag) > 1 {
			number, _ := strconv.Atoi(tag[1]) // generated code has it
			*of = append(*of, make(fields, max(0, number+1-len(*of)))...)
			(*of)[number] = fieldsOf(field.Type)
		}
	}
	return of
}
