using System;
using System.Collections.Generic;

/// <summary>
/// A ray tracer: most of its calls take a few nanoseconds. It prints `Sum` and the sum of the picture's colours.
/// The argument is the picture's width and height in pixels.
/// </summary>
static class Rays
{
    static void Main(string[] arguments)
    {
        int size = arguments.Length > 0 ? int.Parse(arguments[0]) : 500;
        Scene scene = new Scene();
        double sum = 0;
        for (int y = 0; y < size; y++)
        {
            sum += Row(scene, y, size);
        }
        Console.WriteLine("Sum " + (long)sum);
    }

    static double Row(Scene scene, int y, int size)
    {
        double sum = 0;
        for (int x = 0; x < size; x++)
        {
            Vector direction = new Vector(x * 2.0 / size - 1, 1 - y * 2.0 / size, 1).Normalized();
            Vector colour = scene.Trace(new Ray(new Vector(0, 0.5, -3), direction), 0);
            sum += colour.X + colour.Y + colour.Z;
        }
        return sum;
    }
}

readonly struct Vector
{
    public readonly double X, Y, Z;

    public Vector(double x, double y, double z)
    {
        X = x;
        Y = y;
        Z = z;
    }

    public static Vector operator +(Vector a, Vector b) => new Vector(a.X + b.X, a.Y + b.Y, a.Z + b.Z);

    public static Vector operator -(Vector a, Vector b) => new Vector(a.X - b.X, a.Y - b.Y, a.Z - b.Z);

    public static Vector operator *(Vector a, double factor) => new Vector(a.X * factor, a.Y * factor, a.Z * factor);

    public static double Dot(Vector a, Vector b) => a.X * b.X + a.Y * b.Y + a.Z * b.Z;

    public double Length() => Math.Sqrt(Dot(this, this));

    public Vector Normalized() => this * (1 / Length());

    public Vector Reflected(Vector normal) => this - normal * (2 * Dot(this, normal));
}

readonly struct Ray
{
    public readonly Vector Origin, Direction;

    public Ray(Vector origin, Vector direction)
    {
        Origin = origin;
        Direction = direction;
    }

    public Vector At(double distance) => Origin + Direction * distance;
}

abstract class Shape
{
    public double Shine;

    public abstract bool Intersect(Ray ray, out double distance);

    public abstract Vector NormalAt(Vector point);

    public abstract Vector ColourAt(Vector point);
}

sealed class Sphere : Shape
{
    readonly Vector centre, colour;
    readonly double radius;

    public Sphere(Vector centre, double radius, Vector colour)
    {
        this.centre = centre;
        this.radius = radius;
        this.colour = colour;
    }

    public override bool Intersect(Ray ray, out double distance)
    {
        Vector to = centre - ray.Origin;
        double along = Vector.Dot(to, ray.Direction);
        double square = Vector.Dot(to, to) - along * along;
        distance = 0;
        if (square > radius * radius)
        {
            return false;
        }
        double half = Math.Sqrt(radius * radius - square);
        distance = along - half;
        if (distance > 1e-4)
        {
            return true;
        }
        distance = along + half;
        return distance > 1e-4;
    }

    public override Vector NormalAt(Vector point) => (point - centre).Normalized();

    public override Vector ColourAt(Vector point) => colour;
}

sealed class Floor : Shape
{
    const double Height = -1.6;

    public override bool Intersect(Ray ray, out double distance)
    {
        distance = ray.Direction.Y == 0 ? 0 : (Height - ray.Origin.Y) / ray.Direction.Y;
        return distance > 1e-4;
    }

    public override Vector NormalAt(Vector point) => new Vector(0, 1, 0);

    public override Vector ColourAt(Vector point) => new Vector(0.5, 0.5, 0.5) * Turbulence(point);

    /// <summary>Most of its time is in native code.</summary>
    static double Turbulence(Vector point)
    {
        double sum = 0, scale = 1;
        for (int octave = 0; octave < 6; octave++)
        {
            sum += (Math.Sin(point.X * scale) + Math.Cos(point.Z * scale)) / scale;
            scale *= 2;
        }
        return 1 + sum / 4;
    }
}

sealed class Scene
{
    readonly List<Shape> shapes = new List<Shape>();
    readonly Vector light = new Vector(5, 8, -6);

    public Scene()
    {
        for (int i = 0; i < 12; i++)
        {
            Vector centre = new Vector(i % 4 - 1.5, i / 4 - 1, 4 + i % 3);
            shapes.Add(new Sphere(centre, 0.45, new Vector(0.3 + i * 0.05, 0.6, 1 - i * 0.06)) { Shine = i % 2 * 0.5 });
        }
        shapes.Add(new Floor { Shine = 0.1 });
    }

    public Vector Trace(Ray ray, int depth)
    {
        Shape shape = Closest(ray, out double distance);
        if (shape == null)
        {
            return new Vector(0.2, 0.3, 0.6);
        }
        Vector point = ray.At(distance);
        Vector normal = shape.NormalAt(point);
        double brightness = IsInShadow(point) ? 0.1 : Math.Max(0.1, Vector.Dot(normal, (light - point).Normalized()));
        Vector colour = shape.ColourAt(point) * brightness;
        if (shape.Shine == 0 || depth == 4)
        {
            return colour;
        }
        Vector mirrored = Trace(new Ray(point, ray.Direction.Reflected(normal).Normalized()), depth + 1);
        return colour * (1 - shape.Shine) + mirrored * shape.Shine;
    }

    Shape Closest(Ray ray, out double nearest)
    {
        Shape closest = null;
        nearest = double.MaxValue;
        foreach (Shape shape in shapes)
        {
            if (shape.Intersect(ray, out double distance) && distance < nearest)
            {
                nearest = distance;
                closest = shape;
            }
        }
        return closest;
    }

    bool IsInShadow(Vector point)
    {
        Ray ray = new Ray(point, (light - point).Normalized());
        foreach (Shape shape in shapes)
        {
            if (shape.Intersect(ray, out _))
            {
                return true;
            }
        }
        return false;
    }
}
