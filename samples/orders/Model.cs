using System;
using System.Collections;
using System.Collections.Generic;
using System.Reflection;

namespace Orders
{
    public struct Money : IEquatable<Money>, IComparable<Money>
    {
        public readonly decimal Amount;

        public Money(decimal amount)
        {
            Count.Here(MethodBase.GetCurrentMethod());
            Amount = amount;
        }

        public static Money operator +(Money one, Money other)
        {
            Count.Here(MethodBase.GetCurrentMethod());
            return new Money(one.Amount + other.Amount);
        }

        public static Money operator *(Money one, int times)
        {
            Count.Here(MethodBase.GetCurrentMethod());
            return new Money(one.Amount * times);
        }

        public static explicit operator decimal(Money money)
        {
            Count.Here(MethodBase.GetCurrentMethod());
            return money.Amount;
        }

        public static implicit operator Money(int whole)
        {
            Count.Here(MethodBase.GetCurrentMethod());
            return new Money(whole);
        }

        bool IEquatable<Money>.Equals(Money other)
        {
            Count.Here(MethodBase.GetCurrentMethod());
            return Amount == other.Amount;
        }

        public int CompareTo(Money other)
        {
            Count.Here(MethodBase.GetCurrentMethod());
            return Amount.CompareTo(other.Amount);
        }

        public override string ToString()
        {
            Count.Here(MethodBase.GetCurrentMethod());
            return Amount.ToString("0.00", System.Globalization.CultureInfo.InvariantCulture);
        }
    }

    public enum Status
    {
        New, Paid, Shipped, Returned, Lost
    }

    public sealed class OutOfStock : Exception
    {
        public OutOfStock(string product) : base("out of stock: " + product)
        {
            Count.Here(MethodBase.GetCurrentMethod());
        }
    }

    public abstract class Entity
    {
        private static int next = FirstId();

        static Entity()
        {
            Count.Here(MethodBase.GetCurrentMethod());
        }

        protected Entity()
        {
            Count.Here(MethodBase.GetCurrentMethod());
            Id = next++;
            Count.Of(typeof(Entity), "set_Id");
        }

        public int Id { get; private set; }

        public abstract string Describe();

        private static int FirstId()
        {
            Count.Here(MethodBase.GetCurrentMethod());
            return 100;
        }
    }

    public class Line : Entity
    {
        public readonly string Product;
        public readonly Money Price;
        public int Quantity;

        public Line(string product, Money price, int quantity = 1)
        {
            Count.Here(MethodBase.GetCurrentMethod());
            Product = product;
            Price = price;
            Quantity = quantity;
        }

        public virtual Money Total
        {
            get
            {
                Count.Here(MethodBase.GetCurrentMethod());
                return Price * Quantity;
            }
        }

        public override string Describe()
        {
            Count.Here(MethodBase.GetCurrentMethod());
            return Quantity + " x " + Product + " at " + Price;
        }
    }

    public sealed class Discounted : Line
    {
        private readonly int percent;

        public Discounted(string product, Money price, int quantity, int percent) : base(product, price, quantity)
        {
            Count.Here(MethodBase.GetCurrentMethod());
            this.percent = percent;
        }

        public override Money Total
        {
            get
            {
                Count.Here(MethodBase.GetCurrentMethod());
                return new Money(base.Total.Amount * (100 - percent) / 100);
            }
        }
    }

    /// <summary>An order: lines, an indexer, an iterator, an event.</summary>
    public class Order : Entity, IEnumerable<Line>
    {
        private readonly List<Line> lines = new List<Line>();
        private Status status;
        private EventHandler changed;

        public event EventHandler Changed
        {
            add
            {
                Count.Here(MethodBase.GetCurrentMethod());
                changed += value;
            }
            remove
            {
                Count.Here(MethodBase.GetCurrentMethod());
                changed -= value;
            }
        }

        public Order(params Line[] all)
        {
            Count.Here(MethodBase.GetCurrentMethod());
            lines.AddRange(all);
        }

        public Line this[string product]
        {
            get
            {
                Count.Here(MethodBase.GetCurrentMethod());
                foreach (Line line in lines)
                {
                    if (line.Product == product)
                    {
                        return line;
                    }
                }
                throw new KeyNotFoundException(product);
            }
        }

        public Status Status
        {
            get
            {
                Count.Here(MethodBase.GetCurrentMethod());
                return status;
            }
            set
            {
                Count.Here(MethodBase.GetCurrentMethod());
                status = value;
                if (changed != null)
                {
                    changed(this, EventArgs.Empty);
                }
            }
        }

        /// <summary>Steps: MoveNext runs once for each line, and once more to find the end.</summary>
        public IEnumerator<Line> GetEnumerator()
        {
            Count.Here(MethodBase.GetCurrentMethod());
            foreach (Line line in lines)
            {
                yield return line;
                Count.Here(MethodBase.GetCurrentMethod());
            }
        }

        IEnumerator IEnumerable.GetEnumerator()
        {
            Count.Here(MethodBase.GetCurrentMethod());
            return lines.GetEnumerator();
        }

        public ref int QuantityOf(int index)
        {
            Count.Here(MethodBase.GetCurrentMethod());
            return ref lines[index].Quantity;
        }

        public bool TryFind(Predicate<Line> wanted, out Line found)
        {
            Count.Here(MethodBase.GetCurrentMethod());
            found = lines.Find(wanted);
            return found != null;
        }

        public override string Describe()
        {
            Count.Here(MethodBase.GetCurrentMethod());
            return "order of " + lines.Count + " lines, " + Status;
        }
    }

    /// <summary>A generic cache: one method id for all its instantiations.</summary>
    public sealed class Cache<TKey, TValue> where TValue : IComparable<TValue>
    {
        private readonly Dictionary<TKey, TValue> values = new Dictionary<TKey, TValue>();

        public Cache()
        {
            Count.Here(MethodBase.GetCurrentMethod());
        }

        public TValue Get(TKey key, Func<TKey, TValue> make)
        {
            Count.Here(MethodBase.GetCurrentMethod());
            TValue value;
            if (!values.TryGetValue(key, out value))
            {
                value = values[key] = make(key);
            }
            return value;
        }

        public TValue Largest()
        {
            Count.Here(MethodBase.GetCurrentMethod());
            bool any = false;
            TValue largest = default(TValue);
            foreach (TValue value in values.Values)
            {
                largest = !any ? value : Max(largest, value);
                any = true;
            }
            return largest;
        }

        private static T Max<T>(T one, T other) where T : IComparable<T>
        {
            Count.Here(MethodBase.GetCurrentMethod());
            return one.CompareTo(other) >= 0 ? one : other;
        }
    }
}
