// Package checkpoint keeps the objects of an informer in a file, for the next process.
package checkpoint

import (
	"bufio"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"hash/crc32"
	"io"
	"io/fs"
	"iter"
	"os"

	"github.com/relist-go/relist/informer"
	"github.com/relist-go/relist/internal/files"
	"github.com/relist-go/relist/listwatch/format"
	"github.com/relist-go/relist/object"
	"github.com/relist-go/relist/reflector"
)

// Options of a [File]. The zero value is ready.
type Options struct {
	// Cluster identifies the cluster: a name that you choose, or the UID of its namespace
	// kube-system, which takes a request and a right. If Cluster is empty, only the URL of the
	// server tells clusters apart, and programs inside of a cluster use the same URL in every
	// cluster. Then the reflector finds out that a copy is of another cluster, because the newest
	// object of the copy does not exist.
	Cluster string

	// Version is chosen by the program. A file with another Version is not used. Change it if the
	// program keeps other parts of its objects than before, for example by another Transform. It
	// need not change if fields of T were added, removed or renamed.
	Version string
}

// File returns an [informer.Checkpointer] that keeps one copy in one file. Each informer needs a
// file of its own, in a folder that exists and that survives the process.
//
// The file is written beside the old one, synced to the disk and renamed, so that a process that is
// killed leaves the old file or the new one. It has a checksum, and names its source. Only its
// owner can read it, but nothing in it is encrypted: keep a copy of Secrets as secret as the
// Secrets.
//
// Objects are written as T, after the transform, one after the other: in protobuf if T has the
// methods that generated types have (Marshal and Unmarshal), otherwise in JSON as encoding/json
// writes it. If a transform has given a kind to an object, all of them are written in JSON, because
// an object in protobuf has none. Load reads them as package listwatch reads objects, so equal
// strings of several objects take memory once, as in a list. Save reads every object that it has
// written. It returns an error if Load could not read one, or would make an object of it that T
// writes in another way. What T writes in the same way comes back as the same: a field with the tag
// `json:"-"` is not saved.
func File[T object.Object](path string, opts Options) informer.Checkpointer[T] {
	return &file[T]{path: path, opts: opts, codings: codingsOf[T]()}
}

type file[T object.Object] struct {
	path    string
	opts    Options
	codings []coding[T] // at least one
}

// The file is
//
//	magic
//	the length of the header, 4 bytes; the header in JSON
//	of each object: its length as a varint, which is never 0; its bytes
//	0; the number of objects, 8 bytes
//	the CRC-32C of everything before, 4 bytes
//
// with the lowest byte of a number first.
const magic = "relist checkpoint 1\n"

type header struct {
	Of      json.RawMessage `json:"of"`
	Cluster string          `json:"cluster,omitempty"`
	Version string          `json:"version,omitempty"`
	Coding  string          `json:"coding"`
	Point   reflector.Point `json:"point"`
}

const maxHeader = 16 << 20

// castagnoli is a checksum that processors have an instruction for.
var castagnoli = crc32.MakeTable(crc32.Castagnoli)

var (
	errDamaged = errors.New("the file is damaged, or was not written to its end")
	errForeign = errors.New("the file is a copy of something else")
)

func (f *file[T]) header(of, coding string, at reflector.Point) header {
	return header{Of: json.RawMessage(of), Cluster: f.opts.Cluster, Version: f.opts.Version, Coding: coding, Point: at}
}

// Save implements [informer.Checkpointer].
func (f *file[T]) Save(ctx context.Context, of string, at reflector.Point, objects iter.Seq[T]) error {
	seen, err := 0, error(nil)
	for i := range f.codings {
		seen, err = f.save(ctx, &f.codings[i], f.header(of, f.codings[i].name, at), objects, seen)
		if !errors.Is(err, errChanges) {
			break
		}
	}
	if err != nil {
		return fmt.Errorf("save a checkpoint: %w", err)
	}
	return nil
}

// save writes a file in one coding. It returns how many objects came. If fewer came than there must
// be, that is an error.
func (f *file[T]) save(ctx context.Context, c *coding[T], head header, objects iter.Seq[T], atLeast int) (came int, err error) {
	err = files.Replace(f.path, func(to io.Writer) (err error) {
		if came, err = c.write(ctx, to, head, objects); err == nil && came < atLeast {
			err = fmt.Errorf("%d objects came at first, and %d when Save began again: the sequence must be one that can be read twice", atLeast, came)
		}
		return err
	})
	return came, err
}

// write writes a whole file, and returns how many objects came.
func (c *coding[T]) write(ctx context.Context, to io.Writer, head header, objects iter.Seq[T]) (came int, err error) {
	sum := crc32.New(castagnoli)
	w := bufio.NewWriterSize(io.MultiWriter(to, sum), 1<<18)
	text, err := json.Marshal(head)
	if err != nil {
		return 0, err
	}
	if len(text) > maxHeader {
		return 0, fmt.Errorf("the header has %d bytes, and the limit is %d: too many objects are unsure", len(text), maxHeader)
	}
	var number [binary.MaxVarintLen64]byte
	_, _ = w.WriteString(magic) // w keeps its first error for Flush
	_, _ = w.Write(binary.LittleEndian.AppendUint32(number[:0], uint32(len(text))))
	_, _ = w.Write(text)
	for obj := range objects {
		came++
		data, err := c.bytes(obj)
		if err == nil {
			err = c.check(obj, data)
		}
		switch {
		case err != nil:
			return came, fmt.Errorf("object %s: %w", keyOf(obj), err)
		case len(data) == 0 || len(data) > format.MaxObjectBytes:
			return came, fmt.Errorf("object %s: %d bytes", keyOf(obj), len(data))
		}
		_, _ = w.Write(binary.AppendUvarint(number[:0], uint64(len(data))))
		if _, err := w.Write(data); err != nil {
			return came, err
		}
		if came%256 == 0 && ctx.Err() != nil {
			return came, ctx.Err()
		}
	}
	_, _ = w.Write(append(number[:0], 0))
	_, _ = w.Write(binary.LittleEndian.AppendUint64(number[:0], uint64(came)))
	if err := w.Flush(); err != nil {
		return came, err
	}
	_, err = to.Write(binary.LittleEndian.AppendUint32(number[:0], sum.Sum32()))
	return came, err
}

func keyOf[T object.Object](obj T) string {
	key, err := object.KeyOf(obj)
	if err != nil {
		return "without a name"
	}
	return key
}

// Load implements [informer.Checkpointer].
func (f *file[T]) Load(ctx context.Context, of string) ([]T, reflector.Point, error) {
	from, err := os.Open(f.path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, reflector.Point{}, nil
	}
	if err != nil {
		return nil, reflector.Point{}, fmt.Errorf("load a checkpoint: %w", err)
	}
	defer func() { _ = from.Close() }() // it was only read
	objects, at, err := f.read(ctx, from, of)
	if err != nil {
		return nil, reflector.Point{}, fmt.Errorf("load the checkpoint %s: %w", f.path, err)
	}
	return objects, at, nil
}

// summed reads and keeps the checksum of what was read.
type summed struct {
	*bufio.Reader

	sum hash.Hash32
	one [1]byte
}

func (r *summed) full(to []byte) error {
	if _, err := io.ReadFull(r.Reader, to); err != nil {
		return damaged(err)
	}
	_, _ = r.sum.Write(to) // a hash never fails
	return nil
}

// ReadByte is for binary.ReadUvarint.
func (r *summed) ReadByte() (byte, error) {
	b, err := r.Reader.ReadByte()
	if err == nil {
		r.one[0] = b
		_, _ = r.sum.Write(r.one[:]) // a hash never fails
	}
	return b, err
}

// damaged says that the file ends too early, or why it cannot be read.
func damaged(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return errDamaged
	}
	return err
}

func (f *file[T]) read(ctx context.Context, from io.Reader, of string) ([]T, reflector.Point, error) {
	r := &summed{Reader: bufio.NewReaderSize(from, 1<<18), sum: crc32.New(castagnoli)}
	c, at, err := f.readHeader(r, of)
	if err != nil {
		return nil, at, err
	}
	objects, err := c.readObjects(ctx, r)
	if err != nil {
		return nil, at, err
	}
	var count [8]byte
	if err := r.full(count[:]); err != nil {
		return nil, at, err
	}
	want := r.sum.Sum32()
	var sum [4]byte
	if err := r.full(sum[:]); err != nil {
		return nil, at, err
	}
	if binary.LittleEndian.Uint32(sum[:]) != want || binary.LittleEndian.Uint64(count[:]) != uint64(len(objects)) {
		return nil, at, errDamaged
	}
	if _, err := r.Reader.ReadByte(); !errors.Is(err, io.EOF) {
		return nil, at, errDamaged
	}
	return objects, at, nil
}

// readHeader returns the coding of the objects, and the point.
func (f *file[T]) readHeader(r *summed, of string) (*coding[T], reflector.Point, error) {
	begin := make([]byte, len(magic)+4)
	if err := r.full(begin); err != nil {
		return nil, reflector.Point{}, err
	}
	size := binary.LittleEndian.Uint32(begin[len(magic):])
	if string(begin[:len(magic)]) != magic || size > maxHeader {
		return nil, reflector.Point{}, errDamaged
	}
	text := make([]byte, size)
	if err := r.full(text); err != nil {
		return nil, reflector.Point{}, err
	}
	var head header
	if err := json.Unmarshal(text, &head); err != nil {
		return nil, reflector.Point{}, fmt.Errorf("%w: %w", errDamaged, err)
	}
	if head.Point.Version == "" {
		return nil, reflector.Point{}, errDamaged
	}
	c := &f.codings[0]
	for i := range f.codings {
		if f.codings[i].name == head.Coding {
			c = &f.codings[i]
		}
	}
	want := f.header(of, c.name, head.Point)
	for _, is := range []struct{ what, got, want string }{
		{"objects", string(head.Of), string(want.Of)},
		{"cluster", head.Cluster, want.Cluster},
		{"version", head.Version, want.Version},
		{"coding", head.Coding, want.Coding},
	} {
		if is.got != is.want {
			return nil, reflector.Point{}, fmt.Errorf("%w: %s %.500q, want %.500q", errForeign, is.what, is.got, is.want)
		}
	}
	return c, head.Point, nil
}
