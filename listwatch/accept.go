package listwatch

import (
	"errors"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// The parameters of https://kubernetes.io/docs/reference/using-api/api-concepts/#metadata-only-fetches.
const (
	asMetadataList = ";as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"
	asMetadata     = ";as=PartialObjectMetadata;g=meta.k8s.io;v=v1"
)

// acceptList and acceptObject are what is asked for in lists, and in watches and GETs:
// each encoding in order of preference, as metadata alone if that is wanted, and then
// whole objects, for servers that know nothing of metadata.
func (d *decoder[T]) acceptList() string   { return d.accept(asMetadataList) }
func (d *decoder[T]) acceptObject() string { return d.accept(asMetadata) }

func (d *decoder[T]) accept(metadata string) string {
	var types []string
	for _, e := range d.encodings {
		if d.partial {
			types = append(types, e.MediaType()+metadata)
		}
	}
	for _, e := range d.encodings {
		types = append(types, e.MediaType())
	}
	return strings.Join(types, ",")
}

// status returns what reads the Status of a request that is refused, nil if that is
// JSON, which transport reads. A server may answer in any encoding that was asked for.
func (d *decoder[T]) status() func(body []byte) (metav1.Status, error) {
	if len(d.encodings) == 1 && d.encodings[0].MediaType() == jsonMediaType {
		return nil
	}
	return func(body []byte) (metav1.Status, error) {
		for _, e := range d.encodings {
			if e.MediaType() == jsonMediaType {
				continue
			}
			if status, ok := e.Status(body); ok {
				return status, nil
			}
		}
		return metav1.Status{}, errNoStatus
	}
}

var errNoStatus = errors.New("not a Status in an encoding that was asked for")

// encoding returns the one of a list or an object with this media type, and stream
// that of a watch.
func (d *decoder[T]) encoding(mediaType string) (*encoded, bool) {
	for _, e := range d.encodings {
		if e.MediaType() == mediaType {
			return e, true
		}
	}
	return nil, false
}

func (d *decoder[T]) stream(mediaType string) (*encoded, bool) {
	for _, e := range d.encodings {
		if e.StreamMediaType() == mediaType {
			return e, true
		}
	}
	return nil, false
}
