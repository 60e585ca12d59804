package atrium

import (
	"context"
	"errors"
	"iter"

	optionsv1 "atrium.example/atrium/gen/go/atrium/options/v1"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// maxOffset is where lists end that are read by offset.
const maxOffset = 10_000

// ErrTooManyItems ends a list that has no cursor after 10,000 items: narrow the request by a filter.
var ErrTooManyItems = errors.New("atrium: the list has more than 10,000 items, and no cursor")

// Page is a page as lists return it.
type Page[Item any] interface {
	proto.Message
	GetData() []Item
}

// Pages are the items of a list, page by page as they are read.
type Pages[Item any] struct {
	read   func(request proto.Message) (Page[Item], error)
	first  proto.Message
	cursor string
}

// Paginate reads a list to its end: by cursor where the list has one, else by offset. All other parameters of the
// request are kept; pages are as large as the list allows, unless the request says otherwise.
func Paginate[Request proto.Message, Response Page[Item], Item any](
	ctx context.Context,
	call func(context.Context, Request) (Response, error),
	request Request,
) *Pages[Item] {
	read := func(message proto.Message) (Page[Item], error) {
		response, err := call(ctx, message.(Request))
		if err != nil {
			return nil, err
		}
		return response, nil
	}
	return &Pages[Item]{read: read, first: request}
}

// Cursor is where the page after the one last fetched begins: pass it as the cursor of a request to go on later. It is
// empty before the first page, at the end, and for lists without cursors.
func (p *Pages[Item]) Cursor() string { return p.cursor }

// All yields every item; an error ends it.
func (p *Pages[Item]) All() iter.Seq2[Item, error] {
	return func(yield func(Item, error) bool) {
		var none Item
		request := proto.Clone(p.first)
		fields := request.ProtoReflect().Descriptor().Fields()
		limit, cursor, offset := fields.ByName("limit"), fields.ByName("cursor"), fields.ByName("offset")
		prepare(request, limit, cursor)
		for {
			page, err := p.read(request)
			if err != nil {
				yield(none, err)
				return
			}
			items := page.GetData()
			p.cursor = text(page, "next_cursor")
			for _, item := range items {
				if !yield(item, nil) {
					return
				}
			}
			switch {
			case cursor != nil && p.cursor == "", cursor == nil && (offset == nil || isLast(page, request, limit, len(items))):
				return
			case cursor != nil:
				request.ProtoReflect().Set(cursor, protoreflect.ValueOfString(p.cursor))
			default:
				next := request.ProtoReflect().Get(offset).Uint() + uint64(len(items))
				if next > maxOffset {
					yield(none, ErrTooManyItems)
					return
				}
				request.ProtoReflect().Set(offset, protoreflect.ValueOfUint32(uint32(next)))
			}
		}
	}
}

// prepare asks for the largest page, and for cursors.
func prepare(request proto.Message, limit, cursor protoreflect.FieldDescriptor) {
	message := request.ProtoReflect()
	if limit != nil && message.Get(limit).Uint() == 0 {
		rules, _ := proto.GetExtension(limit.Options(), optionsv1.E_Rules).(*optionsv1.Rules)
		if most := uint32(rules.GetMax()); most > 0 {
			message.Set(limit, protoreflect.ValueOfUint32(most))
		}
	}
	if cursor != nil && !message.Has(cursor) {
		message.Set(cursor, protoreflect.ValueOfString(""))
	}
}

func isLast(page, request proto.Message, limit protoreflect.FieldDescriptor, count int) bool {
	size := uint64(0)
	if field := page.ProtoReflect().Descriptor().Fields().ByName("limit"); field != nil {
		size = page.ProtoReflect().Get(field).Uint()
	}
	if size == 0 && limit != nil {
		size = request.ProtoReflect().Get(limit).Uint()
	}
	return count == 0 || uint64(count) < size
}

func text(message proto.Message, name protoreflect.Name) string {
	field := message.ProtoReflect().Descriptor().Fields().ByName(name)
	if field == nil {
		return ""
	}
	return message.ProtoReflect().Get(field).String()
}
