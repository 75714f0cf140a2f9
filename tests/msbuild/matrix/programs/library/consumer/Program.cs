for (int side = 1; side <= 4; side++) System.Console.WriteLine($"area {Shapes.Areas.Square(side)}");
